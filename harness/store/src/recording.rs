use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use twinfer_case::{BackendVersion, Observation, Variant, VariantInfo, Verdict};

use crate::{
    StoreError,
    files::{read_json, write},
    names::OBSERVED,
};

/// The version of the recording format that this crate writes.
const FORMAT: u32 = 1;

/// What variants did with a case: a file beside its folder, since it belongs to backends and their versions and not to
/// the case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    format: u32,
    /// One entry a variant and version.
    pub observed: Vec<RecordedObservation>,
}

/// What one variant did, at one version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedObservation {
    /// Which variant.
    pub variant: Variant,
    /// The backend's name for itself with its version.
    pub version: BackendVersion,
    /// What it did, without timings.
    pub observation: Observation,
    /// What the checks concluded then; absent where a recording is only to be compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

impl RecordedObservation {
    /// What a variant did, and what that came to.
    pub fn new(info: &VariantInfo, observation: &Observation, verdict: &Verdict) -> Self {
        Self { verdict: Some(verdict.clone()), ..Self::without_verdict(info, observation) }
    }

    fn without_verdict(info: &VariantInfo, observation: &Observation) -> Self {
        Self {
            variant: info.variant.clone(),
            version: info.description.backend_version(),
            observation: without_timings(observation),
            verdict: None,
        }
    }
}

impl Recording {
    /// Of one observation.
    pub fn new(info: &VariantInfo, observation: &Observation) -> Self {
        Self { format: FORMAT, observed: vec![RecordedObservation::without_verdict(info, observation)] }
    }

    /// The recording beside the folder of a case.
    pub fn read_beside(folder: &Path) -> Result<Self, StoreError> {
        read_json(&path_beside(folder))
    }

    /// The recording beside the folder of a case, empty where nothing was recorded yet.
    pub fn beside(folder: &Path) -> Result<Self, StoreError> {
        if path_beside(folder).is_file() {
            Self::read_beside(folder)
        } else {
            Ok(Self { format: FORMAT, observed: Vec::new() })
        }
    }

    /// Puts `recorded` in the place of what the same variant and version did before.
    pub fn replace(&mut self, recorded: RecordedObservation) {
        let is_other = |one: &RecordedObservation| {
            (&one.variant, &one.version) != (&recorded.variant, &recorded.version)
        };
        self.observed.retain(is_other);
        self.observed.push(recorded);
        self.observed
            .sort_by(|one, other| (&one.variant, &one.version).cmp(&(&other.variant, &other.version)));
    }

    /// Writes it beside the folder of a case, an observation a line.
    pub fn write_beside(&self, folder: &Path) -> Result<(), StoreError> {
        let path = path_beside(folder);
        let mut text = format!("{{\n  \"format\": {},\n  \"observed\": [", self.format);
        for (index, recorded) in self.observed.iter().enumerate() {
            let line = serde_json::to_string(recorded).map_err(StoreError::format(&path))?;
            let separator = if index == 0 { "" } else { "," };
            // writing into a text cannot fail
            let _ = write!(text, "{separator}\n    {line}");
        }
        text.push_str("\n  ]\n}\n");
        write(&path, text.as_bytes())
    }
}

/// The observation without what differs from run to run of the same work.
pub fn without_timings(observation: &Observation) -> Observation {
    Observation { timings: Vec::new(), ..observation.clone() }
}

/// `FOLDER.observed.json`.
pub fn path_beside(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(OBSERVED);
    folder.with_file_name(name)
}
