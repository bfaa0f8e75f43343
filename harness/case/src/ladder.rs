use std::{fmt, num::NonZeroU64, str::FromStr};

use serde::{Deserialize, Serialize};

/// Which cases are run again at the rungs above their variant, which are the same backend with stronger options.
///
/// Written `1/50` or `10%`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Ladder {
    /// Suspicious cases, and one in this many of the others.
    Sample(NonZeroU64),
    /// As many cases as take this share of the backends' time, suspicious ones first.
    Time(Percent),
}

/// A share, above 0% and below 100%.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(f64);

/// The error of text that is not a ladder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a ladder: give a share of backend time, such as 10%, or a sample rate, such as 1/50")]
pub struct InvalidLadder(String);

impl Percent {
    /// A share of `percent`; `None` unless it is above 0 and below 100.
    pub const fn new(percent: f64) -> Option<Self> {
        if percent > 0.0 && percent < 100.0 { Some(Self(percent)) } else { None }
    }

    /// The share as a fraction of 1.
    pub const fn fraction(self) -> f64 {
        self.0 / 100.0
    }
}

impl FromStr for Ladder {
    type Err = InvalidLadder;

    fn from_str(text: &str) -> Result<Self, InvalidLadder> {
        let time = |percent: &str| Percent::new(percent.parse().ok()?).map(Self::Time);
        let sample = |cases: &str| cases.parse().ok().map(Self::Sample);
        let ladder = match (text.strip_suffix('%'), text.strip_prefix("1/")) {
            (Some(percent), _) => time(percent),
            (None, Some(cases)) => sample(cases),
            (None, None) => None,
        };
        ladder.ok_or_else(|| InvalidLadder(text.to_owned()))
    }
}

impl fmt::Display for Ladder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sample(cases) => write!(f, "1/{cases}"),
            Self::Time(Percent(percent)) => write!(f, "{percent}%"),
        }
    }
}

impl From<Ladder> for String {
    fn from(ladder: Ladder) -> Self {
        ladder.to_string()
    }
}

impl TryFrom<String> for Ladder {
    type Error = InvalidLadder;

    fn try_from(text: String) -> Result<Self, InvalidLadder> {
        text.parse()
    }
}
