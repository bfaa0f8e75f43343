use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use twinfer_case::{
    BackendVersion, LibraryInfo, Observation, Outcome, Variant, VariantInfo, VariantRecord, Verdict,
};

use crate::{
    StoreError,
    files::{read_json, write},
    names::OBSERVED,
};

/// The version of the recording format that this crate writes.
const FORMAT: u32 = 1;

/// The observations of a case by variant and backend version, in a file beside the case's folder: they belong to backends and
/// not to the case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    format: u32,
    /// One observation per variant and version.
    pub observed: Vec<RecordedObservation>,
}

/// What one variant did with a case, in one backend version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedObservation {
    /// The variant.
    pub variant: Variant,
    /// The name that the backend gives itself, with its version.
    pub version: BackendVersion,
    /// The library that the variant loaded; `None` if it loads none that twinfer finds, and in an earlier recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<LibraryInfo>,
    /// What the variant did, without timings.
    pub observation: Observation,
    /// What the checks concluded; `None` in the recording of a finding, whose verdict is the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Whether the variant was compared at the deepest stage that its backend reached on the machine; `None` without a verdict
    /// and in an earlier recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<bool>,
}

/// An observation with what made it.
#[derive(Clone, Copy)]
pub struct Observed<'a> {
    /// The variant with its backend's description.
    pub info: &'a VariantInfo,
    /// The library that the variant loaded, if that is known.
    pub library: Option<&'a LibraryInfo>,
    /// What the variant did.
    pub observation: &'a Observation,
}

impl RecordedObservation {
    /// An observation with its verdict and whether it was `compared`.
    pub fn new(observed: Observed<'_>, verdict: &Verdict, compared: bool) -> Self {
        let (verdict, compared) = (Some(verdict.clone()), Some(compared));
        Self { verdict, compared, ..Self::without_verdict(observed) }
    }

    /// Whether the variant was compared; in an earlier recording, whether its verdict says so.
    pub fn is_compared(&self) -> bool {
        self.compared.unwrap_or(match &self.verdict {
            Some(Verdict::Conforms) => true,
            Some(Verdict::Diverges(_)) => self.observation.outcome == Outcome::Ok,
            _ => false,
        })
    }

    /// The record of the observation, as a journal holds it; `None` without a verdict.
    pub fn record(&self) -> Option<VariantRecord> {
        let Observation { stage, outcome, .. } = &self.observation;
        Some(VariantRecord {
            variant: self.variant.clone(),
            stage: *stage,
            outcome: Some(outcome.clone()),
            verdict: self.verdict.clone()?,
            notes: Vec::new(),
            compared: self.is_compared(),
            timings: Vec::new(),
        })
    }

    /// Whether `now` has the recorded stage, outcome, writes out of bounds and outputs, byte for byte. Log lines may differ.
    pub fn recurs_as(&self, now: &Observation) -> bool {
        let bytes = |observation: &Observation| {
            let outputs = observation.runs.iter().flat_map(|run| &run.outputs);
            outputs
                .map(|tensor| (tensor.dtype(), tensor.shape.clone(), tensor.to_le_bytes()))
                .collect::<Vec<_>>()
        };
        let (then, now) = (&self.observation, &without_timings(now));
        then.stage == now.stage
            && then.outcome == now.outcome
            && then.out_of_bounds == now.out_of_bounds
            && bytes(then) == bytes(now)
    }

    fn without_verdict(Observed { info, library, observation }: Observed<'_>) -> Self {
        Self {
            variant: info.variant.clone(),
            version: info.description.backend_version(),
            library: library.cloned(),
            observation: without_timings(observation),
            verdict: None,
            compared: None,
        }
    }
}

impl Recording {
    /// A recording of one observation, without a verdict.
    pub fn new(observed: Observed<'_>) -> Self {
        Self { format: FORMAT, observed: vec![RecordedObservation::without_verdict(observed)] }
    }

    /// The recording beside the folder of a case.
    ///
    /// # Errors
    ///
    /// If there is none, or it cannot be read.
    pub fn read_beside(folder: &Path) -> Result<Self, StoreError> {
        let path = path_beside(folder);
        if path.is_file() { read_json(&path) } else { Err(StoreError::NoRecording(path)) }
    }

    /// The recording beside the folder of a case; empty if there is none.
    pub fn beside_or_empty(folder: &Path) -> Result<Self, StoreError> {
        if path_beside(folder).is_file() {
            Self::read_beside(folder)
        } else {
            Ok(Self { format: FORMAT, observed: Vec::new() })
        }
    }

    /// Adds an observation, in place of an earlier one of the same variant and version.
    pub fn replace(&mut self, recorded: RecordedObservation) {
        let is_other = |one: &RecordedObservation| {
            (&one.variant, &one.version) != (&recorded.variant, &recorded.version)
        };
        self.observed.retain(is_other);
        self.observed.push(recorded);
        self.observed
            .sort_by(|one, other| (&one.variant, &one.version).cmp(&(&other.variant, &other.version)));
    }

    /// Writes the recording beside the folder of a case, one line per observation.
    pub fn write_beside(&self, folder: &Path) -> Result<(), StoreError> {
        let path = path_beside(folder);
        let mut text = format!("{{\n  \"format\": {},\n  \"observed\": [", self.format);
        for (index, recorded) in self.observed.iter().enumerate() {
            let line = serde_json::to_string(recorded).map_err(StoreError::format(&path))?;
            let separator = if index == 0 { "" } else { "," };
            // writing to a string cannot fail
            let _ = write!(text, "{separator}\n    {line}");
        }
        text.push_str("\n  ]\n}\n");
        write(&path, text.as_bytes())
    }
}

/// The observation without its timings, which differ from run to run.
pub fn without_timings(observation: &Observation) -> Observation {
    Observation { timings: Vec::new(), ..observation.clone() }
}

/// The `paths` but the recordings among them, which a shell finds beside the folders of cases and findings; all of them if they are
/// nothing else.
pub fn without_recordings(paths: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    let has_others = paths.iter().any(|path| !is_recording(path));
    paths.iter().filter(move |path| !has_others || !is_recording(path))
}

/// Whether `path` is the file with the recording of a case or finding, whose folder lies beside it.
fn is_recording(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = name.strip_suffix(OBSERVED).map(|folder| path.with_file_name(folder));
    path.is_file() && folder.is_some_and(|folder| folder.is_dir())
}

/// Whether observations are recorded beside the folder of a finding. Every finding with a case has a recording.
pub fn has_recording(folder: &Path) -> bool {
    path_beside(folder).is_file()
}

/// The path of the recording beside the folder of a case: `FOLDER.observed.json`. If `folder` is a link or `.`, it lies beside the folder that this
/// leads to.
pub fn path_beside(folder: &Path) -> PathBuf {
    let beside = |folder: &Path| {
        let mut name = folder.file_name().unwrap_or_default().to_owned();
        name.push(OBSERVED);
        folder.with_file_name(name)
    };
    let real =
        if folder.file_name().is_none() || folder.is_symlink() { folder.canonicalize().ok() } else { None };
    beside(real.as_deref().unwrap_or(folder))
}
