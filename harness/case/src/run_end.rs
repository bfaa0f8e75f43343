use std::fmt;

use serde::{Deserialize, Serialize};

/// How a run ended. A run without an end is under way, or its process was killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunEnd {
    /// Its budget was spent.
    Complete,
    /// A signal, such as that of Ctrl-C, stopped it.
    Interrupted,
    /// The environment or twinfer failed, as this message says.
    Failed(String),
    /// It was merged of shards of which some are missing or ended early, as this message says.
    Partial(String),
}

impl RunEnd {
    /// Whether cases of the budget did not run.
    pub fn is_early(&self) -> bool {
        *self != Self::Complete
    }
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Failed(reason) | Self::Partial(reason) => reason,
        })
    }
}
