//! The names of files and folders in a run directory, in the folder of a case, and in the folder of a finding.

use std::{fmt::Display, path::PathBuf};

/// Options, variants and machine of a run.
pub const RUN: &str = "run.json";
/// One line per case, in the order in which verdicts came.
pub const JOURNAL: &str = "journal.jsonl";
/// Cases of the journal that were decided again, by the same run or one that resumed it, one line each time.
pub const REVISITED: &str = "revisited.jsonl";
/// What happened in the supervisor and its workers, one line per event.
pub const DEBUG_LOG: &str = "debug.log";
/// The report on a run as a web page.
pub const PAGE: &str = "report.html";
/// The folder of a run with a folder per finding.
pub const FINDINGS: &str = "findings";
/// The case of a finding.
pub const CASE: &str = "case.json";
/// The ONNX model in the folder of a case.
pub const MODEL: &str = "model.onnx";
/// The upstream report that a case reproduces.
pub const TOPIC: &str = "topic.json";
/// The finding; the last file that is written to a finding's folder.
pub const FINDING: &str = "finding.json";
/// The finding as `cargo insta review` shows it.
pub const SNAPSHOT: &str = "finding.snap";
/// The folder with the cases that a worker must run before the case of the finding.
pub const PRECEDING: &str = "preceding";
/// The suffix of the file beside a case's folder with the recorded observations.
pub const OBSERVED: &str = ".observed.json";
/// The prefix of the folders with the tensors of each run, as in ONNX's backend tests.
pub const DATA_SET: &str = "test_data_set_";

/// The folder of a run's tensors, as a path in the folder of a case.
pub fn data_set(run: impl Display) -> PathBuf {
    format!("{DATA_SET}{run}").into()
}

/// The file of a tensor, as a path in the folder of a case: `test_data_set_0/input_0.pb`. `kind` is `input` or `output`.
pub fn tensor_file(run: impl Display, kind: &str, index: impl Display) -> PathBuf {
    data_set(run).join(format!("{kind}_{index}.pb"))
}
