use std::{fmt, str::FromStr};

/// What a debug log contains. Each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// Failures that end the run.
    Error,
    /// Lost workers and devices.
    Warn,
    /// The beginning and end of the run, and findings.
    Info,
    /// What happens per worker, per investigation and per decision of the autoscaler, and long waits.
    Debug,
    /// What happens per case.
    Trace,
}

/// A text that names no level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a log level: give off, error, warn, info, debug or trace")]
pub struct UnknownLogLevel(String);

impl LogLevel {
    /// All levels with their names, in order.
    const NAMES: [(Self, &str); 6] = [
        (Self::Off, "off"),
        (Self::Error, "error"),
        (Self::Warn, "warn"),
        (Self::Info, "info"),
        (Self::Debug, "debug"),
        (Self::Trace, "trace"),
    ];
}

impl FromStr for LogLevel {
    type Err = UnknownLogLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLogLevel> {
        let named = Self::NAMES.into_iter().find(|(_, name)| *name == text);
        named.map(|(level, _)| level).ok_or_else(|| UnknownLogLevel(text.to_owned()))
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize].1)
    }
}

#[cfg(test)]
mod tests {
    use super::LogLevel;

    #[test]
    fn every_level_is_parsed_from_its_name() {
        for (level, name) in LogLevel::NAMES {
            assert_eq!(level.to_string(), name);
            assert_eq!(name.parse(), Ok(level));
        }
        let error = "loud".parse::<LogLevel>().unwrap_err().to_string();
        assert_eq!(error, "\"loud\" is not a log level: give off, error, warn, info, debug or trace");
    }
}
