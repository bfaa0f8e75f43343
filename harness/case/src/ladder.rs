use std::{fmt, num::NonZeroU64, str::FromStr};

use serde::{Deserialize, Serialize};

/// Which cases *climb*: are run again on the rungs above their variant, which are the same backend with stronger
/// options.
///
/// Written `1/50` or `10%`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Ladder {
    /// Suspects, and one case in this many.
    Sample(NonZeroU64),
    /// As many as take this part of the backends' time, suspects first.
    Time(Percent),
}

/// A part of a whole, above nothing and below all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(f64);

/// A text that is no ladder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no ladder: give a part of the backends' time, such as 10%, or of the cases, such as 1/50")]
pub struct InvalidLadder(String);

impl Percent {
    /// `percent` of a hundred, where that is a part of a whole.
    pub fn new(percent: f64) -> Option<Self> {
        (percent > 0.0 && percent < 100.0).then_some(Self(percent))
    }

    /// The part where the whole is 1.
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
