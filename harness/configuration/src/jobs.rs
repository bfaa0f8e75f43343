use std::{num::NonZeroUsize, str::FromStr};

use serde::Deserialize;

/// The number of processes and threads that work at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "usize")]
pub struct Jobs(NonZeroUsize);

/// The largest number of jobs that is accepted.
const MOST: usize = 1024;

/// The text is not a number of jobs in the accepted range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give a number from 1 to {MOST}")]
pub struct InvalidJobs;

impl Jobs {
    /// The number of jobs.
    pub const fn number(self) -> NonZeroUsize {
        self.0
    }
}

impl TryFrom<usize> for Jobs {
    type Error = InvalidJobs;

    fn try_from(number: usize) -> Result<Self, InvalidJobs> {
        NonZeroUsize::new(number).filter(|number| number.get() <= MOST).map(Self).ok_or(InvalidJobs)
    }
}

impl FromStr for Jobs {
    type Err = InvalidJobs;

    fn from_str(text: &str) -> Result<Self, InvalidJobs> {
        text.parse::<usize>().map_err(|_| InvalidJobs)?.try_into()
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidJobs, Jobs};

    #[test]
    fn number_of_jobs_outside_the_range_is_refused() {
        let number = |text: &str| text.parse::<Jobs>().map(|jobs| jobs.number().get());
        assert_eq!((number("1"), number("1024")), (Ok(1), Ok(1024)));
        assert!(["0", "1025", "-1", "many", ""].iter().all(|text| number(text) == Err(InvalidJobs)));
    }
}
