use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_case::EncodedCase;
use twinfer_onnx::Graph;
use twinfer_store::{
    CASE, MODEL, data_sets, findings_of, findings_of_run, has_case, has_finding, has_recording, has_run,
    read_model,
};
use twinfer_targets::{TargetError, read_case};

use crate::{Failure, output::warning};

/// An error if there is no `folder`, or if it is a whole run, where the folder of one finding is asked for.
pub fn ensure_finding_folder(folder: &Path) -> Result<(), Failure> {
    if !folder.exists() {
        let example = findings_of(Path::new("runs/0001")).join("NAME");
        return Err(Failure::usage(format!(
            "there is no {}: give the folder of a finding, such as {}",
            folder.display(),
            example.display()
        )));
    }
    if folder.is_file() {
        let parent = folder.parent().filter(|parent| has_finding(parent));
        let advice = parent.map_or_else(
            || "give the folder of a finding".to_owned(),
            |parent| format!("give the folder {}", parent.display()),
        );
        return Err(Failure::usage(format!("{} is a file: {advice}", folder.display())));
    }
    ensure_single(folder)
}

/// An error if `folder` holds several findings, where one is asked for.
pub fn ensure_single(folder: &Path) -> Result<(), Failure> {
    if let Some(first) = findings_in(folder).into_iter().next() {
        let (folder, first) = (folder.display(), first.display());
        return Err(Failure::usage(format!(
            "{folder} is a folder of findings: give one of them, such as {first}"
        )));
    }
    if !has_run(folder) {
        return Ok(());
    }
    let run = folder.display();
    let first = findings_of_run(folder).ok().and_then(|findings| findings.into_iter().next());
    Err(Failure::usage(match first {
        Some(finding) => format!("{run} is a run: give one of its findings, such as {}", finding.display()),
        None => format!("{run} is a run without findings: give the folder of a finding"),
    }))
}

/// The findings that `path` means: itself, those of a run, or those in a folder of them.
pub fn findings_at(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if has_finding(path) {
        return Ok(vec![path.to_owned()]);
    }
    if has_run(path) {
        return Ok(findings_of_run(path)?);
    }
    let findings = findings_in(path);
    if findings.is_empty() {
        ensure_finding_folder(path)?;
        return Err(TargetError::NoFinding(path.to_owned()).into());
    }
    Ok(findings)
}

/// An error if `folder` holds a finding without a case.
pub fn ensure_case(folder: &Path) -> Result<(), Failure> {
    if !has_finding(folder) || has_case(folder) {
        return Ok(());
    }
    if has_recording(folder) {
        return Err(Failure::usage(format!(
            "{} is missing: copy the folder of the finding again, or let `twinfer fuzz --resume` make it again if it is of a campaign",
            folder.join(CASE).display()
        )));
    }
    let model = folder.join(MODEL);
    let model = model.display();
    let has_inputs = data_sets(folder).is_ok_and(|sets| !sets.is_empty());
    let inputs = has_inputs.then(|| format!(" --inputs {}", folder.display()));
    Err(Failure::usage(format!(
        "{} holds a finding without a case, since golden does not support its model. To compare backends on the model, run `twinfer check {model}{}`",
        folder.display(),
        inputs.unwrap_or_default()
    )))
}

/// Warns if the model in the folder of a case is not that of the case, which is what runs: a reader may take the model for the case, and edit it.
pub fn warn_of_edited_model(folder: &Path) -> Result<(), Failure> {
    let path = folder.join(MODEL);
    if !has_case(folder) || !path.exists() {
        return Ok(());
    }
    let stored = EncodedCase::encode(read_case(folder)?)?;
    let graph = |model: &[u8]| Graph::decode_known(model).ok();
    let model = read_model(&path)?;
    if graph(&model).is_none_or(|model| graph(&stored.task.model) != Some(model)) {
        warning!(
            "{} is not the model of the case in its folder, which is what runs. To run this model, give it to `twinfer check` with --inputs {}",
            path.display(),
            folder.display()
        );
    }
    Ok(())
}

/// The findings in a folder that is none itself, by name.
fn findings_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).ok().filter(|_| !has_finding(folder));
    let paths = entries.into_iter().flatten().filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut findings: Vec<_> = paths.filter(|path| has_finding(path)).collect();
    findings.sort_unstable();
    findings
}
