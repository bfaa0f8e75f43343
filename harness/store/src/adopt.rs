use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_case::{EncodedCase, FINDING_FORMAT, Finding, check_format, read_file_in};

use crate::{
    LocalDisk, StoreError,
    case_folder::{has_case, read_case_in},
    disk::{sync_file, sync_parent, sync_tree},
    files::{read_json_in, write, write_json_durably},
    names::{CASE, FINDING, MODEL, SNAPSHOT, data_set, tensor_file},
    preceding,
    recording::{Recording, has_recording, path_beside},
};

/// The files of a finding's folder that have fixed names. Numbered files are copied as well, and no others.
const FILES: [&str; 3] = [CASE, MODEL, SNAPSHOT];

/// Copies the finding in the folder `finding` to a folder in `golden_cases` named by its signature, and returns that folder.
///
/// If a finding with that signature and [its error](Finding::shows_error_of) is there already, it stays, and the variants in which the new one
/// was seen are added to it, with the nodes at which a model is wrong. If both have the same minimal case, the observations of the new one are
/// added as well. Findings with that signature and other errors are in folders of their own, numbered from 2 on.
pub fn adopt(finding: &Path, golden_cases: &Path) -> Result<PathBuf, StoreError> {
    let found: Finding = read_json_in(finding, FINDING)?;
    let slug = found.signature.slug();
    for number in 1_u32.. {
        let name = if number == 1 { slug.clone() } else { format!("{slug}-{number}") };
        let folder = golden_cases.join(name);
        if !folder.join(FINDING).is_file()
            || found.shows_error_of(&read_json_in::<Finding>(&folder, FINDING)?)
        {
            return adopt_to(finding, found, folder);
        }
    }
    Err(StoreError::format(finding.join(FINDING))("too many findings have this name"))
}

/// As [`adopt`], but findings with one signature are one, whatever their errors.
pub fn adopt_by_name(finding: &Path, golden_cases: &Path) -> Result<PathBuf, StoreError> {
    let found: Finding = read_json_in(finding, FINDING)?;
    let folder = golden_cases.join(found.signature.slug());
    adopt_to(finding, found, folder)
}

/// Copies the finding `found` in the folder `finding` to `folder`, or adds it to the one that is there.
fn adopt_to(finding: &Path, found: Finding, folder: PathBuf) -> Result<PathBuf, StoreError> {
    if !has_case(finding) && !has_recording(finding) {
        return adopt_without_case(finding, found, folder);
    }
    let recording = Recording::read_beside(finding)?;
    check_finding(finding, &found)?;
    if !folder.join(FINDING).is_file() {
        if let Some(golden_cases) = folder.parent() {
            fs::create_dir_all(golden_cases).map_err(StoreError::writing(golden_cases))?;
        }
        recording.write_beside(&folder)?;
        copy_finding(finding, &FILES, &folder)?;
        sync(&folder)?;
        return Ok(folder);
    }
    if !has_case(&folder) {
        let stored: Finding = read_json_in(&folder, FINDING)?;
        recording.write_beside(&folder)?;
        copy_finding(finding, &FILES, &folder)?;
        add_sightings(&folder, stored)?;
        sync(&folder)?;
        return Ok(folder);
    }
    let is_same_case = add_sightings(&folder, found)?;
    if is_same_case {
        add_recording(finding, &folder)?;
    }
    sync(&folder)?;
    Ok(folder)
}

/// Copies a finding that a model shows which golden does not support.
fn adopt_without_case(finding: &Path, found: Finding, folder: PathBuf) -> Result<PathBuf, StoreError> {
    check_format(found.format, FINDING_FORMAT).map_err(StoreError::format(finding.join(FINDING)))?;
    if folder.join(FINDING).is_file() {
        add_sightings(&folder, found)?;
    } else {
        copy_finding(finding, &[MODEL], &folder)?;
    }
    sync_tree(&LocalDisk, &folder)?;
    sync_parent(&LocalDisk, &folder)?;
    Ok(folder)
}

/// Adds where `found` was seen to the finding in `folder`, which is the same bug. Whether both have the same case.
pub fn add_sightings(folder: &Path, found: Finding) -> Result<bool, StoreError> {
    let mut stored: Finding = read_json_in(folder, FINDING)?;
    if !found.wrong_at.is_empty() {
        stored.list_places_of(&found);
    }
    for sighting in found.seen_in {
        stored.add_sighting(sighting);
    }
    write_json_durably(&LocalDisk, &folder.join(FINDING), &stored)?;
    Ok(stored.case == found.case)
}

/// Waits until the folder of a finding and its recording are on disk.
fn sync(folder: &Path) -> Result<(), StoreError> {
    sync_tree(&LocalDisk, folder)?;
    sync_file(&LocalDisk, &path_beside(folder))?;
    sync_parent(&LocalDisk, folder)
}

/// Checks that the folder holds the case of the finding, its model and its inputs.
pub fn check_finding(folder: &Path, finding: &Finding) -> Result<(), StoreError> {
    let wrong = |name: &dyn AsRef<Path>, reason: &str| Err(StoreError::format(folder.join(name))(reason));
    check_format(finding.format, FINDING_FORMAT).map_err(StoreError::format(folder.join(FINDING)))?;
    let encoded = EncodedCase::encode(read_case_in(folder, CASE)?)?;
    if encoded.task.hash != finding.case {
        return wrong(
            &CASE,
            &format!("this is not the case of {FINDING}: adopt the folder as the campaign wrote it"),
        );
    }
    let path = folder.join(MODEL);
    if read_file_in(folder, MODEL).map_err(StoreError::file(path))? != encoded.task.model {
        return wrong(
            &MODEL,
            &format!("this is not the model of {CASE}: adopt the folder as the campaign wrote it"),
        );
    }
    let runs = encoded.task.runs.iter().enumerate();
    let mut inputs =
        runs.flat_map(|(run, inputs)| (0..inputs.len()).map(move |index| tensor_file(run, "input", index)));
    match inputs.find(|name| !folder.join(name).is_file()) {
        Some(missing) => wrong(&missing, "missing: adopt the folder as the campaign wrote it"),
        None => Ok(()),
    }
}

/// Copies the finding in a folder, with those of its files that are numbered or called as in `fixed`.
fn copy_finding(finding: &Path, fixed: &[&str], folder: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(folder).map_err(StoreError::writing(folder))?;
    let fixed = fixed.iter().map(PathBuf::from);
    let files = fixed.chain(data_sets(finding)).chain(preceding::files(finding));
    // written last, so that a folder without it is recognized as unfinished
    let mut files = files.chain([PathBuf::from(FINDING)]);
    files.try_for_each(|name| copy(finding, &name, folder))
}

/// The tensor files of every run, as paths in the folder of the finding.
fn data_sets(finding: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    let runs = (0_usize..).take_while(|run| finding.join(data_set(run)).is_dir());
    runs.flat_map(move |run| {
        ["input", "output"].into_iter().flat_map(move |kind| {
            let names = (0_usize..).map(move |index| tensor_file(run, kind, index));
            names.take_while(|name| finding.join(name).is_file())
        })
    })
}

fn copy(finding: &Path, name: &Path, folder: &Path) -> Result<(), StoreError> {
    let (from, to) = (finding.join(name), folder.join(name));
    let bytes = read_file_in(finding, name).map_err(StoreError::file(from))?;
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(StoreError::writing(parent))?;
    }
    write(&to, &bytes)
}

fn add_recording(finding: &Path, folder: &Path) -> Result<(), StoreError> {
    let mut known = Recording::read_beside(folder)?;
    let observed = Recording::read_beside(finding)?.observed;
    let new: Vec<_> = observed.into_iter().filter(|one| !known.observed.contains(one)).collect();
    known.observed.extend(new);
    known.write_beside(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::write_json;

    /// A copy of the finding in `folder`, seen in another version, with the same minimal case or another one.
    fn seen_elsewhere(golden_cases: &Path, folder: &Path, is_same_case: bool) -> PathBuf {
        let name = folder.file_name().unwrap();
        let copy = golden_cases.join("elsewhere").join(name);
        copy_finding(folder, &FILES, &copy).unwrap();
        let mut finding: Finding = read_json_in(&copy, FINDING).unwrap();
        finding.seen_in[0].version = "of another day".into();
        if !is_same_case {
            let mut case = read_case_in(&copy, CASE).unwrap();
            case.request.tf32 = true;
            write_json(&copy.join(CASE), &case).unwrap();
            finding.case = EncodedCase::encode(case).unwrap().task.hash;
        }
        write_json(&copy.join(FINDING), &finding).unwrap();
        let mut recording = Recording::read_beside(folder).unwrap();
        recording.observed[0].version = "of another day".into();
        recording.write_beside(&copy).unwrap();
        copy
    }

    #[test]
    fn finding_without_case_is_adopted_and_gets_one_later() {
        let stored = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../golden/cases/ort-cpu-parse-crash-convtranspose-0c8bd0e2");
        let (kept, run) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let opaque = run.path().join("opaque");
        copy_finding(&stored, &[MODEL], &opaque).unwrap();
        let folder = adopt(&opaque, kept.path()).unwrap();
        assert!(!has_case(&folder) && folder.join(MODEL).is_file());
        assert_eq!(adopt(&stored, kept.path()).unwrap(), folder);
        assert!(has_case(&folder) && path_beside(&folder).is_file());
        assert_eq!(adopt(&opaque, kept.path()).unwrap(), folder, "it keeps its case");
        assert!(has_case(&folder));
        fs::copy(path_beside(&stored), path_beside(&opaque)).unwrap();
        assert!(adopt(&opaque, kept.path()).is_err(), "its case was lost");
    }

    #[test]
    fn findings_adopted_twice_are_stored_once_with_all_sightings() {
        let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/cases");
        let stored = stored.join("ort-cpu-parse-crash-convtranspose-0c8bd0e2");
        for (is_same_case, observations) in [(true, 2), (false, 1)] {
            let kept = tempfile::tempdir().unwrap();
            let folder = adopt(&stored, kept.path()).unwrap();
            let before: Finding = read_json_in(&folder, FINDING).unwrap();
            let again = seen_elsewhere(kept.path(), &stored, is_same_case);
            assert_eq!(adopt(&again, kept.path()).unwrap(), folder);
            assert_eq!(adopt(&again, kept.path()).unwrap(), folder);
            let after: Finding = read_json_in(&folder, FINDING).unwrap();
            assert_eq!(after.case, before.case);
            assert_eq!(after.seen_in.len(), 2);
            assert_eq!(Recording::read_beside(&folder).unwrap().observed.len(), observations);
        }
    }

    #[test]
    fn findings_of_one_name_with_other_errors_are_apart() {
        let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/cases");
        let stored = stored.join("ort-cpu-parse-crash-convtranspose-0c8bd0e2");
        let kept = tempfile::tempdir().unwrap();
        let first = adopt(&stored, kept.path()).unwrap();
        let explained = seen_elsewhere(kept.path(), &stored, true);
        let mut finding: Finding = read_json_in(&explained, FINDING).unwrap();
        finding.diagnosis = vec!["conv-bias-negated".to_owned()];
        write_json(&explained.join(FINDING), &finding).unwrap();
        let second = adopt(&explained, kept.path()).unwrap();
        assert_eq!(second, kept.path().join(format!("{}-2", finding.signature.slug())));
        assert_eq!(adopt(&explained, kept.path()).unwrap(), second);
        assert_eq!(adopt(&stored, kept.path()).unwrap(), first);
        assert_eq!(adopt_by_name(&explained, kept.path()).unwrap(), first);
    }

    #[test]
    fn inconsistent_findings_are_rejected_and_leave_nothing() {
        let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/cases");
        let stored = stored.join("ort-cpu-parse-crash-convtranspose-0c8bd0e2");
        let (parent, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = parent.path().join("finding");
        let damages: [(&str, Option<&[u8]>); 5] = [
            ("finding/case.json", Some(b"{}")),
            ("finding/model.onnx", Some(b"\x08")),
            ("finding/model.onnx", None),
            ("finding/test_data_set_0/input_0.pb", None),
            ("finding.observed.json", None),
        ];
        for (name, bytes) in damages {
            copy_finding(&stored, &FILES, &folder).unwrap();
            Recording::read_beside(&stored).unwrap().write_beside(&folder).unwrap();
            let path = parent.path().join(name);
            match bytes {
                Some(bytes) => fs::write(path, bytes).unwrap(),
                None => fs::remove_file(path).unwrap(),
            }
            assert!(adopt(&folder, kept.path()).is_err(), "{name}");
            assert_eq!(fs::read_dir(kept.path()).unwrap().count(), 0, "{name}");
        }
    }

    #[test]
    fn links_out_of_a_finding_are_rejected() {
        let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/cases");
        let stored = stored.join("ort-cpu-parse-crash-convtranspose-0c8bd0e2");
        let (parent, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = parent.path().join("secret");
        fs::write(&secret, b"secret").unwrap();
        for name in ["model.onnx", "test_data_set_0/input_0.pb", "preceding/0000.json"] {
            let folder = parent.path().join("finding");
            copy_finding(&stored, &FILES, &folder).unwrap();
            Recording::read_beside(&stored).unwrap().write_beside(&folder).unwrap();
            let link = folder.join(name);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(&secret, &link).unwrap();
            let refused = adopt(&folder, kept.path()).unwrap_err().to_string();
            assert!(refused.contains("leads out of its folder"), "{name}: {refused}");
            fs::remove_dir_all(folder).unwrap();
        }
    }
}
