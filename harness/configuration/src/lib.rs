//! Parses the configuration of a campaign: `twinfer.toml` ([`Configuration`]) and the option values that the command
//! line shares with it.
//!
//! ```
//! use twinfer_configuration::Configuration;
//!
//! let configuration: Configuration = r#"
//!     backends = "golden,ort:cpu,opt=off,trt-rtx"
//!     budget = { time = "8h" }
//! "#
//! .parse()?;
//! assert_eq!(configuration.backends.unwrap_or_default().subjects().len(), 2);
//!
//! let mistake = "jobs = 0".parse::<Configuration>().unwrap_err();
//! assert_eq!(mistake.line, 1);
//! # Ok::<(), twinfer_configuration::Mistake>(())
//! ```
//!
//! The text is untrusted: it is either parsed completely or refused with one line that says why. This crate performs
//! nothing that the text asks for.

mod devices;
mod duration;
mod file;
mod jobs;
mod size;
mod stage_times;
mod variants;
mod versions;

pub use devices::{Devices, InvalidDevice};
pub use duration::seconds;
pub use file::{CONFIGURATION_FILE, Configuration, ConfigurationError, Date, KnownIssue, Mistake};
pub use jobs::{InvalidJobs, Jobs};
pub use size::{InvalidSize, Size};
pub use stage_times::{InvalidStageTimes, StageTimes};
pub use variants::{InvalidVariants, Variants};
pub use versions::{InvalidRange, VersionRange};
