use serde::{Deserialize, Serialize};

use crate::Kind;

/// The version of the topic format that this crate writes.
pub const TOPIC_FORMAT: u32 = 1;

/// What a case stands for: behaviour that somebody reported of a backend or that follows from its sources.
///
/// It is `topic.json` in the folder of the case; what each version of a backend gives stands beside the folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    /// [`TOPIC_FORMAT`].
    pub format: u32,
    /// What it is about, in one line.
    pub title: String,
    /// Where it was reported: a URL.
    pub upstream: String,
    /// The software that is said to show it, with the versions.
    pub reported_in: String,
    /// In which way it is said to diverge.
    pub symptom: Kind,
    /// What a conforming backend does.
    pub expects: String,
    /// What a reader must know to judge the results, such as an environment that is needed to see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
    /// Why there is no case: what of it no graph of ours can hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
}
