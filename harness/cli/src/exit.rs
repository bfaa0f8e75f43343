use std::process::ExitCode;

use serde::{Deserialize, Serialize};

/// What the exit code of `twinfer` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// 0: everything that was compared conforms; a replay saw again what was recorded.
    Conforms,
    /// 1: there are new findings; a replay saw something else.
    Findings,
    /// 2: wrong usage or wrong input.
    Usage,
    /// 3: the environment or the harness failed.
    Environment,
}

impl Exit {
    /// The number itself.
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
