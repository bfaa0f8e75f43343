//! The folder of a finding: the folder of its minimal case with the finding itself.

use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_case::{EncodedCase, Finding, Outcome, Task};
use twinfer_onnx::Interface;

use crate::{
    Observed, Outputs, Recording, StoreError,
    case_folder::{write_case_folder, write_tensors},
    files::{is_unfinished, read_json_in, write, write_json},
    names::{FINDING, MODEL, SNAPSHOT},
    recording::path_beside,
};

/// Whether `folder` holds a finding that was written completely.
pub fn has_finding(folder: &Path) -> bool {
    folder.join(FINDING).is_file()
}

/// The most files of a finding that are listed.
const MAX_FILES: usize = 64;

/// The files of the finding in `folder` and the recording beside it, as paths from the folder that `folder` lies in, sorted. Links are left
/// out.
pub fn files_of_finding(folder: &Path) -> Vec<PathBuf> {
    let recording = path_beside(folder);
    let mut paths = files_in(folder);
    for inner in folders_in(folder) {
        paths.extend(files_in(&inner));
    }
    paths.truncate(MAX_FILES);
    paths.sort();
    paths.extend(recording.is_file().then_some(recording));
    let parent = folder.parent().unwrap_or(Path::new(""));
    paths.iter().filter_map(|path| path.strip_prefix(parent).ok().map(Path::to_owned)).collect()
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    entries(folder, fs::FileType::is_file)
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    entries(folder, fs::FileType::is_dir)
}

/// The entries of a folder that are of a type, at most [`MAX_FILES`]; none if it cannot be read.
fn entries(folder: &Path, is_wanted: fn(&fs::FileType) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let wanted = entries.filter(|entry| entry.file_type().is_ok_and(|found| is_wanted(&found)));
    wanted.map(|entry| entry.path()).filter(|path| !is_unfinished(path)).take(MAX_FILES).collect()
}

/// The finding in `folder`, which may be foreign: nothing outside the folder is read. `None` if there is none.
pub fn read_finding(folder: &Path) -> Result<Option<Finding>, StoreError> {
    has_finding(folder).then(|| read_json_in(folder, FINDING)).transpose()
}

/// Writes a finding in place of what its folder says of it. The folder keeps its case.
pub fn update_finding(folder: &Path, finding: &Finding) -> Result<(), StoreError> {
    write_json(&folder.join(FINDING), finding)
}

/// Writes the folder of a finding with its minimal case and the expected outputs, and beside the folder the observation.
pub fn write_finding(
    folder: &Path,
    finding: &Finding,
    (minimal, outputs): (&EncodedCase, &Outputs),
    observed: Observed<'_>,
) -> Result<(), StoreError> {
    write_case_folder(folder, minimal, outputs)?;
    write(&folder.join(SNAPSHOT), snapshot(finding, observed).as_bytes())?;
    Recording::new(observed).write_beside(folder)?;
    // written last, so that a folder without it is recognized as unfinished
    write_json(&folder.join(FINDING), finding)
}

/// A finding in a model that golden does not support, and that therefore has no case.
#[derive(Clone, Copy)]
pub struct OpaqueFinding<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// The model's inputs and outputs.
    pub interface: &'a Interface,
    /// The model and its inputs.
    pub task: &'a Task,
}

/// Writes the folder of a finding without a case: the finding, the model, and the inputs of each run.
pub fn write_opaque_finding(
    folder: &Path,
    OpaqueFinding { finding, interface, task }: OpaqueFinding<'_>,
) -> Result<(), StoreError> {
    fs::create_dir_all(folder).map_err(StoreError::writing(folder))?;
    write(&folder.join(MODEL), &task.model)?;
    for (run, inputs) in task.runs.iter().enumerate() {
        let names = interface.inputs.iter().map(|info| info.name.as_str());
        write_tensors(folder, run, "input", names, inputs)?;
    }
    write_json(&folder.join(FINDING), finding)
}

/// The finding as `cargo insta review` shows it, without versions and timings.
fn snapshot(finding: &Finding, Observed { info, observation, .. }: Observed<'_>) -> String {
    let outcome = match &observation.outcome {
        Outcome::Ok => "ok".to_owned(),
        Outcome::Rejected(reason) => format!("rejected: {reason}"),
        Outcome::Failed(reason) => format!("failed: {reason}"),
        Outcome::Crashed(status) => format!("crashed: {status}"),
        Outcome::TimedOut => "timed out".to_owned(),
    };
    let mut lines = vec![
        "---\nsource: tests\nexpression: finding\n---".to_owned(),
        format!("signature: {}", finding.signature),
        format!("graph: {}", finding.graph),
        format!("reached: {}, {outcome}", observation.stage),
    ];
    let memory = info.variant.memory().filter(|_| info.variant.is_poisoned());
    lines.extend(memory.map(|mode| format!("seen only with poisoned memory: memory={mode}")));
    lines.extend(finding.detailed_diagnosis().map(|diagnosis| format!("diagnosis: {diagnosis}")));
    lines.extend(
        finding.divergences.iter().map(|divergence| format!("{}: {}", divergence.kind, divergence.detail)),
    );
    lines.join("\n") + "\n"
}
