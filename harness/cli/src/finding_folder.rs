use std::path::Path;

use twinfer_store::{findings_of, findings_of_run, has_run};

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
