//! The names of files and folders of a run and of a finding.

/// What the run is of: options, variants, machine.
pub const RUN: &str = "run.json";
/// One line per case, in case order.
pub const JOURNAL: &str = "journal.jsonl";
/// Cases of the journal that were decided once more when the run was resumed, one line each time.
pub const REVISITED: &str = "revisited.jsonl";
/// The folder of a run with a folder per finding.
pub const FINDINGS: &str = "findings";
/// The case of a finding.
pub const CASE: &str = "case.json";
/// The case's graph as ONNX encodes it.
pub const MODEL: &str = "model.onnx";
/// What was found; the last file that is written to a finding's folder.
pub const FINDING: &str = "finding.json";
/// What `cargo insta review` shows of a finding.
pub const SNAPSHOT: &str = "finding.snap";
/// The cases that a worker had run before, if a finding needs them.
pub const PRECEDING: &str = "preceding";
/// What is appended to the name of a case's folder for the file beside it that holds what was observed.
pub const OBSERVED: &str = ".observed.json";
