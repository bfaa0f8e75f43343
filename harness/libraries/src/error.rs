use std::{io, path::PathBuf};

/// Why a library cannot be installed or found; every message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No package has this name.
    #[error("unknown library {name:?}: use one of {known}, or give the path of a folder of libraries")]
    UnknownPackage {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The package has no wheel for this machine.
    #[error("{name} is available for x86-64 Linux only: give the path of a folder of libraries")]
    Platform {
        /// The package.
        name: &'static str,
    },
    /// A known package is not installed.
    #[error("{name} is not installed (looked in {}): run `twinfer backends install {name}`", path.display())]
    NotInstalled {
        /// The package.
        name: String,
        /// Where it would be.
        path: PathBuf,
    },
    /// No home folder is known.
    #[error("cannot determine a cache folder: set TWINFER_HOME to a writable folder")]
    NoHome,
    /// A folder of a library cannot be put on the loader's search path.
    #[error("the loader's search path is not UTF-8: check LD_LIBRARY_PATH and TWINFER_HOME")]
    SearchPath,
    /// pip cannot be started.
    #[error("cannot run `{command}`: install Python 3 with pip ({source})")]
    NoPip {
        /// What was run.
        command: String,
        /// Why it did not start.
        source: io::Error,
    },
    /// pip ran and failed.
    #[error("`{command}` failed: {reason}")]
    Pip {
        /// What was run.
        command: String,
        /// The last line of its own explanation.
        reason: String,
    },
    /// The file is not the one that was pinned.
    #[error("{} has SHA-256 {actual}, expected {expected}: the download is damaged or was replaced, try again", path.display())]
    WrongHash {
        /// The file.
        path: PathBuf,
        /// What it should be.
        expected: String,
        /// What it is.
        actual: String,
    },
    /// A wheel that is in no table.
    #[error("{} is not the wheel of a known library: unpack it and give the folder of libraries", path.display())]
    UnknownWheel {
        /// The wheel.
        path: PathBuf,
    },
    /// The wheel cannot be read, or lacks a library.
    #[error("cannot unpack {file} from {}: {source}", wheel.display())]
    Wheel {
        /// The wheel.
        wheel: PathBuf,
        /// The file inside it.
        file: String,
        /// Why.
        source: zip::result::ZipError,
    },
    /// A folder without the libraries of any product.
    #[error(
        "no backend libraries in {}: expected libonnxruntime.so, or libnvinfer.so with libnvonnxparser.so, \
         or libtensorrt_rtx.so with libtensorrt_onnxparser_rtx.so",
        path.display()
    )]
    NoLibraries {
        /// The folder.
        path: PathBuf,
    },
    /// An installed file is not what was installed.
    #[error("{} {fault}: run `twinfer backends install {name}`", path.display())]
    Damaged {
        /// The installed library's name.
        name: String,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A manifest that cannot be read.
    #[error("cannot read the manifest {}: remove its folder and install again ({reason})", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
