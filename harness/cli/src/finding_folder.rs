use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_store::{MODEL, findings_of, findings_of_run, has_case, has_finding, has_run};

use crate::Failure;

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
    if let Some(first) = first_finding_in(folder) {
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

/// An error if `folder` holds a finding without a case.
pub fn ensure_case(folder: &Path) -> Result<(), Failure> {
    if !has_finding(folder) || has_case(folder) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} holds a finding without a case, since golden does not support its model. To compare backends on the model, run `twinfer check {}`",
        folder.display(),
        folder.join(MODEL).display()
    )))
}

/// The first finding in a folder that is none itself.
fn first_finding_in(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok().filter(|_| !has_finding(folder))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    paths.filter(|path| has_finding(path)).min()
}
