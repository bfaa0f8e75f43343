use std::process::ExitCode;

use serde::{Deserialize, Serialize};

/// The exit codes of `twinfer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// 0: everything that was compared conforms; for `replay`, the recorded observation recurred.
    Conforms,
    /// 1: there are new findings; for `replay`, the recorded observation did not recur.
    Findings,
    /// 2: wrong usage or wrong input.
    Usage,
    /// 3: the environment or twinfer itself failed.
    Environment,
}

impl Exit {
    /// The number that the process exits with.
    pub const fn code(self) -> u8 {
        match self {
            Self::Conforms => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::Environment => 3,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
