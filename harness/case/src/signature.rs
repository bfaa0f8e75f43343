use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{BackendName, Fallback, FallbackReason, FallbackValues, Kind, Stage};

/// What makes two divergences the same bug; computed on the minimal case.
///
/// It holds neither a version nor raw log text: versions are what a signature is observed in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Signature {
    /// Without its options and version.
    pub backend: BackendName,
    /// In which stage.
    pub stage: Stage,
    /// In which way.
    pub kind: Kind,
    /// Why, or what is left of the graph.
    pub cause: Cause,
    /// The code of the backend's error, the signal that it died of, or the rule whose breach it accepts.
    pub error: Option<String>,
}

/// The part of a [`Signature`] that tells causes apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The semantic mutants that reproduce the output, in order.
    Diagnosis(Vec<String>),
    /// No mutant explains it: the operators and attribute classes left in the minimal case, in order.
    Graph(Vec<String>),
    /// An operator runs in another precision than the graph asks for.
    Fallback {
        /// Its ONNX operator type.
        operator: String,
        /// Why.
        reason: FallbackReason,
        /// Whether values are known to be wrong for it.
        changes_values: bool,
        /// The semantic mutants that reproduce the values, where those are wrong.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        diagnosis: Vec<String>,
    },
}

impl Cause {
    /// The cause that a fallback is, with the mutants that reproduce the values.
    pub fn of_fallback(fallback: &Fallback, diagnosis: Vec<String>) -> Self {
        let Fallback { operator, reason, values } = fallback.clone();
        Self::Fallback { operator, reason, changes_values: values == FallbackValues::Changed, diagnosis }
    }
}

impl Signature {
    /// A name for a folder: lower-case letters, digits, `_` and `-` only, at most 120 bytes.
    ///
    /// Signatures that differ only in what a folder name cannot hold are told apart by a digest at the end.
    pub fn slug(&self) -> String {
        let mut slug = slugify(&self.to_string());
        slug.truncate(SLUG_TEXT);
        let digest = blake3::hash(self.canonical().as_bytes()).to_hex();
        format!("{}-{}", slug.trim_end_matches('-'), &digest.as_str()[..8])
    }

    fn canonical(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

const SLUG_TEXT: usize = 111;

fn slugify(text: &str) -> String {
    let mut slug = String::new();
    for character in text.chars() {
        match character {
            'a'..='z' | '0'..='9' | '_' => slug.push(character),
            'A'..='Z' => slug.push(character.to_ascii_lowercase()),
            _ if slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    slug.trim_matches('-').to_owned()
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.backend.label(), self.stage, self.kind)?;
        let parts = match &self.cause {
            Cause::Diagnosis(mutants) => mutants,
            Cause::Graph(classes) => classes,
            Cause::Fallback { operator, reason, changes_values, diagnosis } => {
                write!(f, " {operator} {reason}")?;
                if *changes_values {
                    write!(f, " {}", FallbackValues::Changed)?;
                }
                diagnosis
            }
        };
        parts.iter().try_for_each(|part| write!(f, " {part}"))
    }
}
