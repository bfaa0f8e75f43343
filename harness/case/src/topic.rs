use serde::{Deserialize, Serialize};

use crate::Kind;

/// The version of the topic format that this crate writes.
pub const TOPIC_FORMAT: u32 = 1;

/// The behavior that a case stands for: one that was reported for a backend or that follows from its sources.
///
/// It is stored as `topic.json` in the folder of the case; the observations of each backend version are beside the folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    /// [`TOPIC_FORMAT`].
    pub format: u32,
    /// The behavior in one line.
    pub title: String,
    /// The URL of the report.
    pub upstream: String,
    /// The software that is reported to show the behavior, with versions.
    pub reported_in: String,
    /// The reported kind of divergence.
    pub symptom: Kind,
    /// What a conforming backend does.
    pub expects: String,
    /// What a reader needs to know to judge the results, such as the environment that shows the behavior.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
    /// Why there is no case: what cannot be expressed as a graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
}
