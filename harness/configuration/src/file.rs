//! `twinfer.toml`: defaults for the options of the command line, and known findings.

use std::{
    fmt::{self, Display},
    io,
    num::NonZeroU64,
    path::Path,
    str::FromStr,
};

use serde::{Deserialize, Deserializer, de};
use toml::value::Datetime;
use twinfer_case::{Budget, Distribution, Ladder, Signature, WorkerLimits, read_file};
use twinfer_generators::Family;

use crate::{
    devices::Devices, duration, jobs::Jobs, size::Size, stage_times::StageTimes, variants::Variants,
    versions::VersionRange,
};

/// The file that is read if none is named.
pub const CONFIGURATION_FILE: &str = "twinfer.toml";

/// The largest size of a configuration, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The contents of a `twinfer.toml`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Configuration {
    /// The variants, as in `--backends`; `None` if the file does not set them.
    #[serde(default, deserialize_with = "parsed")]
    pub backends: Option<Variants>,
    /// The families to generate; empty if the file does not set them.
    #[serde(default, deserialize_with = "families")]
    pub families: Vec<Family>,
    /// What generators draw how often, as in `--distribution`.
    pub distribution: Option<Distribution>,
    /// The seed of the campaign, as in `--seed`.
    pub seed: Option<u64>,
    /// The number of jobs, as in `--jobs`.
    pub jobs: Option<Jobs>,
    /// The CUDA devices to use, as in `--devices`.
    pub devices: Option<Devices>,
    /// The most memory of a worker, as in `--worker-memory`.
    pub worker_memory: Option<Size>,
    /// The most processes of a worker, as in `--worker-processes`.
    pub worker_processes: Option<NonZeroU64>,
    /// The most temporary files of a worker, as in `--worker-disk`.
    pub worker_disk: Option<Size>,
    /// How long a worker may stay in some of the stages, as in `--deadline`.
    #[serde(default, deserialize_with = "parsed")]
    pub deadline: Option<StageTimes>,
    /// The escalation of options, as in `--ladder`.
    pub ladder: Option<Ladder>,
    /// The budget after which the campaign stops, as in `--cases` or `--time`.
    #[serde(default, deserialize_with = "budget")]
    pub budget: Option<Budget>,
    /// Findings that do not fail a run.
    #[serde(default)]
    pub known: Vec<KnownIssue>,
}

/// A known finding.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KnownIssue {
    /// The signature of the finding: the name of its folder.
    #[serde(deserialize_with = "slug")]
    pub finding: String,
    /// The reason that the finding does not fail a run.
    pub reason: String,
    /// The upstream report, such as a URL.
    pub upstream: Option<String>,
    /// The versions of the backend in which the finding is known; in other versions it is new.
    #[serde(default, deserialize_with = "versions")]
    pub versions: VersionRange,
    /// The day from which the entry is due for review; `None` if it needs none.
    #[serde(default, deserialize_with = "date")]
    pub review: Option<Date>,
}

/// A day of the calendar; days compare in chronological order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    /// The year, from 0 to 9999.
    pub year: u16,
    /// The month, from 1 to 12.
    pub month: u8,
    /// The day of the month, from 1.
    pub day: u8,
}

/// Why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// The file cannot be read.
    #[error("cannot read {file}: {source}")]
    Unreadable {
        /// The path of the file.
        file: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not a valid configuration.
    #[error("cannot parse {file}: {mistake}")]
    Mistake {
        /// The path of the file.
        file: String,
        /// The invalid line and the reason.
        mistake: Mistake,
    },
}

/// The line at which a text is not a valid configuration, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct Mistake {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong on the line.
    pub message: String,
}

impl Configuration {
    /// The limits of workers, with the defaults for resources that the file does not limit.
    pub fn worker_limits(&self) -> WorkerLimits {
        let defaults = WorkerLimits::default();
        WorkerLimits {
            memory: self.worker_memory.map(Size::bytes).or(defaults.memory),
            processes: self.worker_processes.map_or(defaults.processes, NonZeroU64::get),
            disk: self.worker_disk.map_or(defaults.disk, Size::bytes),
        }
    }

    /// Reads `file` or, if it is `None`, `twinfer.toml` in the current folder. Without either, the configuration is
    /// empty.
    pub fn read(file: Option<&Path>) -> Result<Self, ConfigurationError> {
        let default = Path::new(CONFIGURATION_FILE);
        match file {
            Some(file) => Self::of(file),
            // whatever has the name, so that nothing that was meant is left out
            None if default.symlink_metadata().is_ok() => Self::of(default),
            None => Ok(Self::default()),
        }
    }

    fn of(file: &Path) -> Result<Self, ConfigurationError> {
        let name = || file.display().to_string();
        let unreadable = |source| ConfigurationError::Unreadable { file: name(), source };
        let bytes = read_file(file, MAX_BYTES).map_err(unreadable)?;
        let text = String::from_utf8(bytes).map_err(|error| unreadable(io::Error::other(error)))?;
        text.parse().map_err(|mistake| ConfigurationError::Mistake { file: name(), mistake })
    }
}

impl FromStr for Configuration {
    type Err = Mistake;

    fn from_str(text: &str) -> Result<Self, Mistake> {
        toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            Mistake { line, message: error.message().replace('\n', " ") }
        })
    }
}

impl Date {
    /// The current day in UTC.
    pub fn today() -> Self {
        use chrono::Datelike;
        let today = chrono::Utc::now().date_naive();
        Self {
            year: u16::try_from(today.year()).unwrap_or(u16::MAX),
            month: today.month() as u8,
            day: today.day() as u8,
        }
    }
}

impl Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

fn parsed<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    String::deserialize(deserializer)?.parse().map(Some).map_err(de::Error::custom)
}

/// Reads a signature: the name of a folder, which cannot be a path.
fn slug<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_plain) {
        return Err(de::Error::custom(
            "a finding is named as its folder: lower-case letters, digits, - and _",
        ));
    }
    if !Signature::is_slug(&name) {
        return Err(de::Error::custom(
            "not the name of a finding, which begins with a backend and a stage, as in trt-parse-rejects-valid-…, or with a backend and `unstable`",
        ));
    }
    Ok(name)
}

fn families<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Family>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    names.iter().map(|name| name.parse().map_err(de::Error::custom)).collect()
}

fn versions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<VersionRange, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

/// `{ cases = 1000 }` or `{ time = "8h" }`.
fn budget<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Budget>, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        cases: Option<u64>,
        time: Option<String>,
    }
    match Written::deserialize(deserializer)? {
        Written { cases: Some(cases), time: None } => Ok(Some(Budget::Cases(cases))),
        Written { cases: None, time: Some(time) } => {
            Ok(Some(Budget::Seconds(duration::seconds(&time).map_err(de::Error::custom)?)))
        }
        _ => Err(de::Error::custom(
            "a budget is either a number of cases or a time, such as { time = \"8h\" }",
        )),
    }
}

fn date<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Date>, D::Error> {
    let written = Datetime::deserialize(deserializer)?;
    let date = written.date.ok_or_else(|| de::Error::custom("a review is a day, such as 2027-03-01"))?;
    Ok(Some(Date { year: date.year, month: date.month, day: date.day }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(text: &str) -> Result<Configuration, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        Configuration::read(Some(file.path())).map_err(|error| error.to_string())
    }

    #[test]
    fn every_option_of_the_command_line_can_be_set_in_a_file() {
        let configuration = read(
            r#"
            backends = "golden,ort:cpu,opt=off"
            families = ["conv", "deconv"]
            distribution = "baseline"
            seed = 7
            jobs = 2
            devices = "0,1"
            ladder = "10%"
            budget = { time = "8h" }

            [[known]]
            finding = "ort-cpu-parse-crash-convtranspose-0c8bd0e2"
            reason = "reported"
            upstream = "https://github.com/microsoft/onnxruntime/issues/1"
            versions = ">=1.20, <2"
            review = 2027-03-01
            "#,
        )
        .unwrap();
        assert_eq!(configuration.backends, Some("golden,ort:cpu,opt=off".parse().unwrap()));
        assert_eq!(configuration.families, [Family::Conv, Family::Deconv]);
        assert_eq!(configuration.distribution, Some(Distribution::Baseline));
        assert_eq!(configuration.ladder, "10%".parse().ok());
        assert_eq!(configuration.budget, Some(Budget::Seconds(8 * 3600)));
        assert_eq!(configuration.known[0].review, Some(Date { year: 2027, month: 3, day: 1 }));
        assert!(configuration.known[0].versions.holds("1.31.1"));
    }

    #[test]
    fn error_has_its_line_number() {
        for (text, line) in [
            ("seed = 7\nsed = 8", "line 2: unknown field `sed`"),
            ("seed = 7\njobs = 1025", "line 2: give a number from 1 to 1024"),
            ("devices = \"first\"", "line 1: \"first\" is not a GPU"),
            ("deadline = \"5m\"", "line 1: give stages and times, such as start=10m,build=5m"),
            ("worker-memory = \"8GB\"", "line 1: give a whole number with a unit: 512MiB, 8GiB, 2TiB"),
            ("\n\nbackends = \"ort:tpu\"", "line 3: unknown backend"),
            ("families = [\"con\"]", "line 1:"),
            ("ladder = \"ten\"", "line 1: \"ten\" is not a ladder: give a share"),
            ("budget = { hours = 1 }", "line 1: unknown field `hours`"),
            (
                "budget = { time = \"8h\", cases = 3 }",
                "line 1: a budget is either a number of cases or a time",
            ),
            ("[[known]]\nfinding = \"trt-build-x\"", "line 1: missing field `reason`"),
            ("[[known]]\nfinding = \"trt-build-x\"\nreason = \"y\"\nversions = \"new\"", "line 4:"),
            ("[[known]]\nfinding = \"trtx-parse-x\"\nreason = \"y\"", "line 2: not the name of a finding"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(line), "{message}");
        }
    }

    #[test]
    fn known_finding_is_a_folder_name_and_not_a_path() {
        for name in ["", "..", "../a", "/etc", "a/b", "a\\u0000", "A"] {
            let message = read(&format!("[[known]]\nfinding = \"{name}\"\nreason = \"y\"")).unwrap_err();
            assert!(message.contains("line 2: a finding is named as its folder"), "{message}");
        }
    }

    #[test]
    fn oversized_file_is_not_read() {
        let message = read(&" ".repeat(MAX_BYTES as usize + 1)).unwrap_err();
        assert!(message.contains("larger than"), "{message}");
        assert!(Configuration::read(Some(Path::new("/dev/zero"))).is_err());
    }

    #[test]
    fn too_deep_nesting_is_an_error() {
        assert!(read(&format!("seed = {}", "[".repeat(100_000))).is_err());
        assert!(read(&format!("a{} = 1", ".a".repeat(100_000))).is_err());
    }

    #[test]
    fn days_compare_in_chronological_order() {
        assert!(Date { year: 2026, month: 12, day: 31 } < Date { year: 2027, month: 1, day: 1 });
        assert!(Date { year: 2020, month: 1, day: 1 } < Date::today());
    }
}
