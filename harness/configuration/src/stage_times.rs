use std::{str::FromStr, time::Duration};

use twinfer_case::Stage;

use crate::seconds;

/// How long a worker may stay in some of the stages: `start=10m,build=5m`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes([Option<u64>; Stage::ALL.len()]);

/// The text does not give times to stages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidStageTimes {
    /// A part of the text is no assignment to a stage.
    #[error(
        "give stages and times, such as start=10m,build=5m; the stages are start, load, parse, build and execute"
    )]
    Form,
    /// A stage occurs twice.
    #[error("{0} is given twice")]
    Repeated(Stage),
    /// What stands behind a stage is no time.
    #[error("{stage}: {reason}")]
    Time {
        /// The stage.
        stage: Stage,
        /// What is wrong with the time.
        reason: String,
    },
}

impl StageTimes {
    /// The time of `stage`, if there is one.
    pub fn of(self, stage: Stage) -> Option<Duration> {
        self.0[stage as usize].map(Duration::from_secs)
    }
}

impl FromStr for StageTimes {
    type Err = InvalidStageTimes;

    fn from_str(text: &str) -> Result<Self, InvalidStageTimes> {
        let mut times = Self::default();
        for part in text.split(',') {
            let (name, time) = part.split_once('=').ok_or(InvalidStageTimes::Form)?;
            let stage = Stage::ALL.into_iter().find(|stage| stage.name() == name);
            let stage = stage.ok_or(InvalidStageTimes::Form)?;
            let time = seconds(time).map_err(|reason| InvalidStageTimes::Time { stage, reason })?;
            if times.0[stage as usize].replace(time).is_some() {
                return Err(InvalidStageTimes::Repeated(stage));
            }
        }
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use twinfer_case::Stage;

    use super::{InvalidStageTimes, StageTimes};

    #[test]
    fn stages_get_the_times_that_are_given() {
        let times: StageTimes = "build=5m,start=90s".parse().unwrap();
        assert_eq!(
            Stage::ALL.map(|stage| times.of(stage)),
            [Some(Duration::from_secs(90)), None, None, Some(Duration::from_mins(5)), None]
        );
    }

    #[test]
    fn what_gives_no_times_to_stages_is_refused() {
        for text in ["", "5m", "compile=5m", "build=5m,", "build 5m"] {
            assert_eq!(text.parse::<StageTimes>(), Err(InvalidStageTimes::Form), "{text}");
        }
        assert_eq!("build=5m,build=6m".parse::<StageTimes>(), Err(InvalidStageTimes::Repeated(Stage::Build)));
        let error = "load=5".parse::<StageTimes>().unwrap_err();
        assert_eq!(error.to_string(), "load: give seconds, minutes or hours: 90s, 30m, 8h");
    }
}
