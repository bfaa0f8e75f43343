//! A backend with bugs in several operators: nearly every generated case shows one of the others as well.

use std::{fs, path::Path, process::Command};

use twinfer_case::Finding;
use twinfer_tests::no_findings;

use crate::twinfer;

#[test]
fn bug_is_explained_beside_a_bug_of_another_operator() {
    const BUGS: &str = "zero-point-before-rounding+kernel-reversed";
    let has_packages = Command::new("python3").args(["-c", "import numpy, onnx, onnxruntime"]).output();
    if !has_packages.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: python3 with onnx and onnxruntime is needed");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters/mutated_adapter.py");
    let backends = format!("golden,external:python3 {} --bug {BUGS}", script.display());
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let outcome = twinfer(
        &[
            &["fuzz", "--trust", "--jobs", "1", "--seed", "22", "--cases", "1", "--shard", "19/1000"][..],
            &["--backends", &backends, "--family", "qdq-conv,qdq-deconv", "--distribution", "baseline"],
            &["--known", no_findings(), "--out", out.to_str().unwrap()],
        ]
        .concat(),
    )
    .run();
    let folders = fs::read_dir(out.join("findings")).unwrap().map(|entry| entry.unwrap().path());
    let stored: Vec<_> = folders.filter(|path| path.is_dir()).collect();
    let [stored] = &stored[..] else { panic!("{}", outcome.shown()) };
    let finding: Finding = serde_json::from_slice(&fs::read(stored.join("finding.json")).unwrap()).unwrap();
    assert_eq!(finding.diagnosis, ["zero-point-before-rounding"], "{}", outcome.shown());
    let trigger = finding.trigger.expect("it is one of QuantizeLinear");
    assert!(trigger.is_sufficient(), "{trigger}");
    assert_eq!(trigger.condition(), "QuantizeLinear");
}
