use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// How often generators draw what: the same families, with different facts in their cases.
///
/// The same seed gives the same cases of `Baseline` in every version of twinfer, so rates and other figures are measured on it. `Full`
/// changes whenever generators learn to draw something new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// The cases of November 2026, which never change. Files that name no distribution hold these.
    #[default]
    Baseline,
    /// Everything that the generators can draw.
    Full,
}

/// The error of a name that no distribution has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown distribution {0:?}: use baseline or full")]
pub struct UnknownDistribution(String);

impl Distribution {
    /// Every distribution.
    pub const ALL: [Self; 2] = [Self::Baseline, Self::Full];

    /// The name that options, journals and cases use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Full => "full",
        }
    }

    /// Whether this is the distribution of files that name none.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Distribution {
    type Err = UnknownDistribution;

    fn from_str(text: &str) -> Result<Self, UnknownDistribution> {
        let named = |distribution: &Self| distribution.name() == text;
        Self::ALL.into_iter().find(named).ok_or_else(|| UnknownDistribution(text.to_owned()))
    }
}
