use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twinfer_case::{Observation, Variant, VariantInfo};

use crate::{
    CampaignError,
    journal::{read_json, write_json},
};

/// The version of the recording format that this crate writes.
const FORMAT: u32 = 1;

/// What variants did with a finding's case: a file beside its folder, since it belongs to backends and their versions
/// and not to the case.
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
    /// The backend's name and version.
    pub version: String,
    /// What it did, without timings.
    pub observation: Observation,
}

impl Recording {
    /// Of one observation.
    pub fn of(info: &VariantInfo, observation: &Observation) -> Self {
        let recorded = RecordedObservation {
            variant: info.variant.clone(),
            version: version(info),
            observation: timeless(observation),
        };
        Self { format: FORMAT, observed: vec![recorded] }
    }

    /// The recording beside the folder of a finding.
    pub fn read_beside(folder: &Path) -> Result<Self, CampaignError> {
        read_json(&path_beside(folder))
    }

    /// Writes it beside the folder of a finding.
    pub fn write_beside(&self, folder: &Path) -> Result<(), CampaignError> {
        write_json(&path_beside(folder), self)
    }
}

/// The backend's name and version, as recordings and sightings carry it.
pub fn version(info: &VariantInfo) -> String {
    format!("{} {}", info.description.name, info.description.version)
}

/// The observation without what differs from run to run of the same work.
pub fn timeless(observation: &Observation) -> Observation {
    Observation { timings: Vec::new(), ..observation.clone() }
}

/// `FOLDER.observed.json`.
pub fn path_beside(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".observed.json");
    folder.with_file_name(name)
}
