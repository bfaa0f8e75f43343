//! A case of a survey.

use std::path::{Path, PathBuf};

use twinfer_case::{Case, Topic, Verdict};
use twinfer_store::{RecordedObservation, Recording, has_case, read_topic};
use twinfer_targets::read_case;

use crate::Failure;

/// A case of the survey with its observations.
pub struct Entry {
    /// The case folder.
    pub folder: PathBuf,
    /// The upstream report that the case reproduces, if any.
    pub topic: Option<Topic>,
    /// The case; `None` for a topic that no graph can express.
    pub case: Option<Case>,
    /// Observations to report, by variant and backend version.
    pub observations: Vec<RecordedObservation>,
    /// Observations that were stored beside the folder before this survey.
    pub stored: Vec<RecordedObservation>,
}

impl Entry {
    /// Reads the case in `folder` with its stored observations.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        Ok(Self {
            folder: folder.to_owned(),
            topic: read_topic(folder)?,
            case: if has_case(folder) { Some(read_case(folder)?) } else { None },
            observations: Vec::new(),
            stored: Recording::beside_or_empty(folder)?.observed,
        })
    }

    /// The name of the folder.
    pub fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Whether an observation diverges that was not stored.
    pub fn has_new_divergence(&self) -> bool {
        let diverging = |one: &&RecordedObservation| matches!(one.verdict, Some(Verdict::Diverges(_)));
        self.observations.iter().filter(diverging).any(|one| !self.is_stored(one))
    }

    /// Whether a stored observation has the same variant, version and verdict. That of a finding has no verdict: the variant must have
    /// done the same.
    fn is_stored(&self, observation: &RecordedObservation) -> bool {
        self.stored.iter().any(|stored| {
            let recurs = || stored.verdict.is_none() && stored.recurs_as(&observation.observation);
            stored.variant == observation.variant
                && stored.version == observation.version
                && (stored.verdict == observation.verdict || recurs())
        })
    }
}
