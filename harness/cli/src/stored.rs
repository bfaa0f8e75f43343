use std::{fs, path::Path};

use serde::de::DeserializeOwned;
use twinfer_case::{Case, Finding, Variant};

use crate::Failure;

/// Reads a folder that holds `case.json`, or such a file itself.
pub fn read_case(path: &Path) -> Result<Case, Failure> {
    if path.is_dir() { read_json(&path.join("case.json")) } else { read_json(path) }
}

/// A finding as a campaign left it on disk.
pub struct StoredFinding {
    /// Its minimal case.
    pub case: Case,
    /// The finding.
    pub finding: Finding,
    /// What was observed, for a person.
    pub snapshot: String,
}

impl StoredFinding {
    /// Reads a folder that holds `finding.json`, `finding.snap` and `case.json`.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        Ok(Self {
            finding: read_json(&folder.join("finding.json"))?,
            snapshot: read_text(&folder.join("finding.snap"))?,
            case: read_case(folder)?,
        })
    }

    /// The variants that showed it, each once.
    pub fn variants(&self) -> Vec<Variant> {
        let mut variants: Vec<Variant> = Vec::new();
        for sighting in &self.finding.seen_in {
            if !variants.contains(&sighting.variant) {
                variants.push(sighting.variant.clone());
            }
        }
        variants
    }
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let text = read_text(path)?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!(
            "cannot understand {}: {error}: is it of this version of twinfer?",
            path.display()
        ))
    })
}

fn read_text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!(
            "cannot read {}: {error}: give the folder of a case or a finding",
            path.display()
        ))
    })
}
