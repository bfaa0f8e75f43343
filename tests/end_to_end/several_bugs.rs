//! A backend with bugs in two operators: nearly every case with one of the operators has the other one as well, and shows its bug.

use twinfer_tests::no_findings;

use crate::{culprit::adapter, planted::findings, twinfer};

#[test]
fn bug_is_explained_beside_a_bug_of_another_operator() {
    let bugs = "--bug zero-point-before-rounding+kernel-reversed";
    let Some(backend) = adapter("mutated_adapter.py", bugs) else { return };
    let backends = format!("golden,{backend}");
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
    let findings = findings(&out);
    let [finding] = &findings[..] else { panic!("{}", outcome.shown()) };
    assert_eq!(finding.diagnosis, ["zero-point-before-rounding"], "{}", outcome.shown());
    let trigger = finding.trigger.as_ref().expect("it is one of QuantizeLinear");
    assert!(trigger.is_sufficient(), "{trigger}");
    assert_eq!(trigger.condition(), "QuantizeLinear");
}
