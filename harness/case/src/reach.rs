use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Stage;

/// How far a backend goes on this machine, whatever the model. Shown wherever a number of a variant is that does not execute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reach {
    /// It loads models.
    #[serde(rename = "loaded, not parsed")]
    Loaded,
    /// It parses them as well.
    #[serde(rename = "parsed, not built")]
    Parsed,
    /// It builds them as well: no values are computed.
    #[serde(rename = "built, not executed")]
    Built,
    /// It executes them.
    #[default]
    #[serde(rename = "executed")]
    Executed,
}

impl From<Stage> for Reach {
    /// What the work of a backend comes to that ends after `stage`.
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Start | Stage::Load => Self::Loaded,
            Stage::Parse => Self::Parsed,
            Stage::Build => Self::Built,
            Stage::Execute => Self::Executed,
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loaded => "loaded, not parsed",
            Self::Parsed => "parsed, not built",
            Self::Built => "built, not executed",
            Self::Executed => "executed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reach_is_stored_in_the_words_that_are_printed() {
        for stage in Stage::ALL {
            let reach = Reach::from(stage);
            assert_eq!(serde_json::to_string(&reach).unwrap(), format!("\"{reach}\""));
        }
    }
}
