use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{BackendName, Fallback, FallbackReason, FallbackValues, Kind, Stage, failed_check};

/// What makes two divergences the same bug; computed on the minimal case.
///
/// A signature holds neither a version nor raw log text; the same signature may be seen in several versions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Signature {
    /// The backend, without its options and version.
    pub backend: BackendName,
    /// The stage of the divergence; [`Stage::Load`] if it is unstable, since its outcomes may reach different stages.
    pub stage: Stage,
    /// The kind of the divergence.
    pub kind: Kind,
    /// Why the backend diverges, or what is left of the graph.
    pub cause: Cause,
    /// The code of the backend's error, how its process crashed, the rule whose violation it accepts, or the backend from which its outputs
    /// differ where nothing says which is right; `None` if the divergence has none of these. If a valid model was refused, the check that failed stands behind the code, as far as the message names it.
    pub error: Option<String>,
}

/// The part of a [`Signature`] that distinguishes causes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The names of the mutants that reproduce the output, in order.
    Diagnosis(Vec<String>),
    /// No mutant reproduces the output: the operators and attribute classes left in the minimal case, in order.
    Graph(Vec<String>),
    /// An operator runs in another precision than the graph asks for.
    Fallback {
        /// The ONNX operator type.
        operator: String,
        /// Why the operator runs in another precision.
        reason: FallbackReason,
        /// Whether values are known to be wrong because of it.
        changes_values: bool,
        /// The names of the mutants that reproduce the wrong values; empty if values are not wrong or no mutant does.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        diagnosis: Vec<String>,
    },
}

impl Cause {
    /// The fallback as a cause, with the names of the mutants that reproduce its values.
    pub fn of_fallback(fallback: &Fallback, diagnosis: Vec<String>) -> Self {
        let Fallback { operator, reason, values } = fallback.clone();
        Self::Fallback { operator, reason, changes_values: values == FallbackValues::Changed, diagnosis }
    }
}

impl Signature {
    /// The signature of an unstable case with these classes: it depends on none of its outcomes.
    pub const fn unstable(backend: BackendName, classes: Vec<String>) -> Self {
        Self { backend, stage: Stage::Load, kind: Kind::Unstable, cause: Cause::Graph(classes), error: None }
    }

    /// A folder name for the signature: lowercase letters, digits, `_` and `-` only, at most 120 bytes.
    ///
    /// It ends with a digest, which distinguishes signatures that a folder name alone cannot.
    pub fn slug(&self) -> String {
        let mut slug = slugify(&self.to_string());
        slug.truncate(SLUG_TEXT);
        let digest = blake3::hash(self.canonical().as_bytes()).to_hex();
        format!("{}-{}", slug.trim_end_matches('-'), &digest.as_str()[..8])
    }

    /// The same signature with the check in the code of the backend that failed, which tells refusals with one code apart.
    #[must_use]
    pub fn with_check(self, check: Option<&str>) -> Self {
        let error = match (&self.error, check) {
            (Some(code), Some(check)) if self.is_of_refusal() && self.failed_check().is_none() => {
                Some(format!("{code}{CHECK}{check}"))
            }
            _ => return self,
        };
        Self { error, ..self }
    }

    /// The [check](crate::Divergence::failed_check) in the code of the backend that failed; `None` if the signature has none.
    pub fn failed_check(&self) -> Option<&str> {
        let (_, check) = self.error.as_deref()?.split_once(CHECK)?;
        self.is_of_refusal().then_some(check)
    }

    /// Whether a condition failed in the code of an ONNX parser. A condition stands for one mistake, whatever the model.
    pub fn is_told_by_condition(&self) -> bool {
        self.failed_check().is_some_and(|check| !failed_check::is_place(check))
    }

    const fn is_of_refusal(&self) -> bool {
        matches!(self.kind, Kind::RejectsValid | Kind::BuildFailure)
    }

    /// The signature as it was before it had a check.
    #[must_use]
    pub fn without_check(&self) -> Self {
        let code = self.failed_check().and(self.error.as_deref()).and_then(|error| error.split_once(CHECK));
        let error = code.map_or_else(|| self.error.clone(), |(code, _)| Some(code.to_owned()));
        Self { error, ..self.clone() }
    }

    /// Whether `slug` is the folder name of a finding with this signature, in this version of twinfer or in one whose signatures had no
    /// check.
    pub fn is_called(&self, slug: &str) -> bool {
        self.slug() == slug || self.failed_check().is_some() && self.without_check().slug() == slug
    }

    /// Whether `slug` begins as the folder names of `backend`'s findings do: with the backend and a stage, or with the backend and `unstable`.
    pub fn is_slug_of(slug: &str, backend: &BackendName) -> bool {
        let rest = slug.strip_prefix(&slugify(backend.label())).and_then(|rest| rest.strip_prefix('-'));
        let stages = [Stage::Start, Stage::Load, Stage::Parse, Stage::Build, Stage::Execute];
        let unstable = Kind::Unstable.to_string();
        rest.is_some_and(|rest| {
            rest.starts_with(&unstable) || stages.iter().any(|stage| rest.starts_with(&stage.to_string()))
        })
    }

    /// Whether `slug` begins as the folder names of some backend's findings do.
    pub fn is_slug(slug: &str) -> bool {
        let external = BackendName::External(String::new());
        BackendName::BUILT_IN.iter().chain([&external]).any(|backend| Self::is_slug_of(slug, backend))
    }

    /// The signature as one line of JSON, which is the same in every build: what its hash is over.
    pub fn canonical(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What stands between the code of an error and the check that failed.
const CHECK: &str = ": ";

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
        f.write_str(self.backend.label())?;
        if self.kind != Kind::Unstable {
            write!(f, " {}", self.stage)?;
        }
        write!(f, " {}", self.kind)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_keeps_the_name_that_it_had_without_a_check() {
        let earlier = Signature {
            backend: BackendName::Trt,
            stage: Stage::Parse,
            kind: Kind::RejectsValid,
            cause: Cause::Graph(vec!["QuantizeLinear".to_owned()]),
            error: Some("kINVALID_NODE helper".to_owned()),
        };
        assert_eq!((earlier.failed_check(), earlier.without_check()), (None, earlier.clone()));
        let named = earlier.clone().with_check(Some("K == scaleSize"));
        assert_eq!(named.failed_check(), Some("K == scaleSize"));
        assert_eq!(named.clone().with_check(Some("another")), named, "it has one");
        assert_eq!(named.without_check(), earlier);
        assert!(named.is_called(&named.slug()) && named.is_called(&earlier.slug()));
        assert!(!earlier.is_called(&named.slug()) && named.slug() != earlier.slug());
        assert!(named.is_told_by_condition() && !earlier.is_told_by_condition());
        let unbuilt = Signature { kind: Kind::BuildFailure, ..earlier.clone() };
        let placed = unbuilt.clone().with_check(Some("at computeCosts in optimizer.cpp"));
        assert!(placed.is_called(&unbuilt.slug()) && !placed.is_told_by_condition());
        let crash = Signature { kind: Kind::Crash, ..earlier };
        assert_eq!(crash.clone().with_check(Some("K == scaleSize")), crash);
    }

    #[test]
    fn folder_name_begins_with_the_backend() {
        let is_of = |backend: &str, slug| Signature::is_slug_of(slug, &backend.parse().unwrap());
        assert!(is_of("trt-rtx", "trt-rtx-parse-rejects-valid-conv-34937ac5"));
        assert!(!is_of("trt", "trt-rtx-parse-rejects-valid-conv-34937ac5"));
        assert!(is_of("ort:cpu", "ort-cpu-execute-wrong-values-truncated-754bad71"));
        assert!(is_of("external:./adapter.py", "external-execute-crash-conv-00000000"));
        assert!(Signature::is_slug("trt-unstable-conv-00000000"));
        assert!(!Signature::is_slug("trtx-parse-rejects-valid-conv-34937ac5"));
    }
}
