use twinfer_case::Variant;

/// Why a library cannot be provided.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The library of this variant is not installed, and would not run here.
    #[error("{0} needs an NVIDIA GPU and this machine has none")]
    NoDevice(Variant),
    /// A library cannot be installed, or is damaged.
    #[error(transparent)]
    Library(#[from] twinfer_libraries::Error),
}
