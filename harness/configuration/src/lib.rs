//! What a person asks of a campaign in text: `twinfer.toml` ([`Configuration`]) and the values of options that the
//! command line shares with it.
//!
//! Nothing here acts on what was asked for. All of it is untrusted: every text is either understood or refused with one
//! line that says why.

mod duration;
mod file;
mod jobs;
mod shard;
mod variants;
mod versions;

pub use duration::seconds;
pub use file::{Configuration, ConfigurationError, Date, KnownIssue, Mistake};
pub use jobs::{InvalidJobs, Jobs};
pub use shard::{InvalidShard, Shard};
pub use variants::{InvalidVariants, Variants};
pub use versions::{InvalidRange, VersionRange};
