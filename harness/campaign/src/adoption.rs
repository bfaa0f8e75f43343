use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_case::Finding;

use crate::{
    CampaignError,
    journal::{read_json, write},
    recording::{Recording, path_beside},
};

/// The files of a finding's folder; anything else in it is left behind.
const FILES: [&str; 4] = ["case.json", "model.onnx", "finding.snap", "finding.json"];

/// Copies the finding in the folder `finding` to a folder of its signature's name under `golden_cases`; that folder.
///
/// A finding that is there already is replaced, what was observed of it is added to.
pub fn adopt(finding: &Path, golden_cases: &Path) -> Result<PathBuf, CampaignError> {
    let read: Finding = read_json(&finding.join("finding.json"))?;
    let folder = golden_cases.join(read.signature.slug());
    fs::create_dir_all(&folder).map_err(CampaignError::file(&folder))?;
    for name in FILES {
        copy(&finding.join(name), &folder.join(name))?;
    }
    for run in 0.. {
        let name = format!("test_data_set_{run}");
        if !finding.join(&name).is_dir() {
            break;
        }
        copy_data_set(&finding.join(&name), &folder.join(&name))?;
    }
    adopt_recording(finding, &folder)?;
    Ok(folder)
}

fn copy_data_set(from: &Path, to: &Path) -> Result<(), CampaignError> {
    fs::create_dir_all(to).map_err(CampaignError::file(to))?;
    for kind in ["input", "output"] {
        for index in 0.. {
            let name = format!("{kind}_{index}.pb");
            if !from.join(&name).is_file() {
                break;
            }
            copy(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<(), CampaignError> {
    write(to, &fs::read(from).map_err(CampaignError::file(from))?)
}

fn adopt_recording(finding: &Path, folder: &Path) -> Result<(), CampaignError> {
    let mut recording = Recording::read_beside(finding)?;
    if path_beside(folder).is_file() {
        let known = Recording::read_beside(folder)?;
        let news: Vec<_> =
            recording.observed.into_iter().filter(|one| !known.observed.contains(one)).collect();
        recording = known;
        recording.observed.extend(news);
    }
    recording.write_beside(folder)
}
