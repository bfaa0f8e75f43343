use twinfer_case::{MemoryMode, PoisonPattern, TrustedVariant};

use crate::process::command::WorkerCommand;

/// What is done to the memory of a worker, in place of what its variant asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerMemory {
    /// Nothing.
    Untouched,
    /// Memory of the host that was never written holds a pattern.
    HostFilled(PoisonPattern),
    /// Memory of the host and of CUDA that was never written holds a pattern.
    Filled(PoisonPattern),
}

impl WorkerMemory {
    /// The variant to start in place of `variant`.
    pub fn variant(self, variant: &TrustedVariant) -> TrustedVariant {
        match self {
            Self::Untouched => variant.with_memory(MemoryMode::Off),
            Self::HostFilled(_) => variant.clone(),
            Self::Filled(pattern) => variant.with_memory(MemoryMode::Poison(pattern)),
        }
    }

    /// The pattern that memory holds where nothing was written; `None` if it is left as it is.
    pub const fn pattern(self) -> Option<PoisonPattern> {
        match self {
            Self::Untouched => None,
            Self::HostFilled(pattern) | Self::Filled(pattern) => Some(pattern),
        }
    }

    /// The command to start in place of `command`.
    pub fn command(self, command: &WorkerCommand) -> WorkerCommand {
        match self {
            Self::Untouched => command.clone(),
            Self::HostFilled(pattern) | Self::Filled(pattern) => command.filling_memory(pattern),
        }
    }
}
