use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_case::Finding;

use crate::{
    CampaignError, history,
    journal::{read_json, write, write_json},
    recording::Recording,
};

/// The files of a finding's folder; anything else in it is left behind.
const FILES: [&str; 4] = ["case.json", "model.onnx", "finding.snap", FINDING];

/// The one that says what was found.
const FINDING: &str = "finding.json";

/// Copies the finding in the folder `finding` to a folder of its signature's name under `golden_cases`; that folder.
///
/// A finding that is there already stays, and gains the variants that this one was seen in; what they did is added to
/// what was observed where both have the same minimal case.
pub fn adopt(finding: &Path, golden_cases: &Path) -> Result<PathBuf, CampaignError> {
    let found: Finding = read_json(&finding.join(FINDING))?;
    let folder = golden_cases.join(found.signature.slug());
    if !folder.join(FINDING).is_file() {
        copy_finding(finding, &folder)?;
        Recording::read_beside(finding)?.write_beside(&folder)?;
        return Ok(folder);
    }
    let mut stored: Finding = read_json(&folder.join(FINDING))?;
    let is_same_case = stored.case == found.case;
    let news: Vec<_> = found.seen_in.into_iter().filter(|one| !stored.seen_in.contains(one)).collect();
    stored.seen_in.extend(news);
    write_json(&folder.join(FINDING), &stored)?;
    if is_same_case {
        add_recording(finding, &folder)?;
    }
    Ok(folder)
}

fn copy_finding(finding: &Path, folder: &Path) -> Result<(), CampaignError> {
    fs::create_dir_all(folder).map_err(CampaignError::writing(folder))?;
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
    copy_history(finding, folder)
}

fn copy_history(finding: &Path, folder: &Path) -> Result<(), CampaignError> {
    for (from, to) in history::files(finding).zip(history::places(folder)) {
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(CampaignError::writing(parent))?;
        }
        copy(&from, &to)?;
    }
    Ok(())
}

fn copy_data_set(from: &Path, to: &Path) -> Result<(), CampaignError> {
    fs::create_dir_all(to).map_err(CampaignError::writing(to))?;
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

fn add_recording(finding: &Path, folder: &Path) -> Result<(), CampaignError> {
    let mut known = Recording::read_beside(folder)?;
    let observed = Recording::read_beside(finding)?.observed;
    let news: Vec<_> = observed.into_iter().filter(|one| !known.observed.contains(one)).collect();
    known.observed.extend(news);
    known.write_beside(folder)
}

#[cfg(test)]
mod tests {
    use twinfer_case::CaseHash;

    use super::*;

    /// A finding that is stored, seen in one variant more, with its minimal case as it was or another.
    fn seen_elsewhere(golden_cases: &Path, folder: &Path, case: Option<CaseHash>) -> PathBuf {
        let name = folder.file_name().unwrap();
        let copy = golden_cases.join("elsewhere").join(name);
        copy_finding(folder, &copy).unwrap();
        let mut finding: Finding = read_json(&copy.join(FINDING)).unwrap();
        finding.seen_in[0].version = "of another day".to_owned();
        finding.case = case.unwrap_or(finding.case);
        write_json(&copy.join(FINDING), &finding).unwrap();
        let mut recording = Recording::read_beside(folder).unwrap();
        recording.observed[0].version = "of another day".to_owned();
        recording.write_beside(&copy).unwrap();
        copy
    }

    #[test]
    fn a_finding_adopted_twice_is_stored_once_with_all_it_was_seen_in() {
        let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/cases");
        let stored = stored.join("ort-cpu-parse-crash-convtranspose-0c8bd0e2");
        for (case, observations) in [(None, 2), (Some("00".repeat(32).try_into().unwrap()), 1)] {
            let kept = tempfile::tempdir().unwrap();
            let folder = adopt(&stored, kept.path()).unwrap();
            let before: Finding = read_json(&folder.join(FINDING)).unwrap();
            let again = seen_elsewhere(kept.path(), &stored, case);
            assert_eq!(adopt(&again, kept.path()).unwrap(), folder);
            assert_eq!(adopt(&again, kept.path()).unwrap(), folder);
            let after: Finding = read_json(&folder.join(FINDING)).unwrap();
            assert_eq!(after.case, before.case);
            assert_eq!(after.seen_in.len(), 2);
            assert_eq!(Recording::read_beside(&folder).unwrap().observed.len(), observations);
        }
    }
}
