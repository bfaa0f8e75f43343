use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Instant,
};

use twinfer_case::{Case, Event, Kind};
use twinfer_onnx::Op;
use twinfer_store::read_run;
use twinfer_targets::read_case;

use twinfer_prerequisites::skip;

use crate::setup::{against_variant, is_full_tier};

/// A Python that imports `packages`: `TWINFER_PYTHON`, or `python3`. Reports a skipped test and returns `None` if it cannot.
fn python_with(packages: &str) -> Option<String> {
    let python = std::env::var("TWINFER_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let imported = Command::new(&python)
        .args(["-c", &format!("import {packages}")])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !imported {
        skip("python", format!("{python} cannot import {packages}; set TWINFER_PYTHON to a Python that can"));
    }
    imported.then_some(python)
}

#[test]
fn planted_bug_is_found_and_minimized_to_one_node() {
    let Some(python) = python_with("onnx, onnxruntime, numpy") else { return };
    let adapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/campaign/adapters/swapped_pads.py");
    let campaign = against_variant(&format!("external:{python} {}", adapter.display()), 60);
    let started = Instant::now();
    let outcome = campaign.run();
    println!("the campaign took {:?}", started.elapsed());
    let findings = outcome.findings();
    let finding = findings.first().expect("the bug is found");
    assert_eq!(finding.kind, Kind::WrongValues);
    assert_eq!(finding.diagnosis, ["pads-swapped"]);
    assert_eq!(finding.after.nodes, 1, "{}", finding.graph);
    assert!(finding.after.input_elements <= 32, "{}", finding.graph);
    assert!(finding.graph.starts_with("ConvTranspose"), "{}", finding.graph);
    // starting Python takes longer than that, each time
    let processor = read_run(&outcome.out).unwrap().processor.expect("the campaign has ended");
    assert!(processor.cases_millis > 50 && processor.investigations_millis > 50, "{processor:?}");
}

/// ONNX Runtime 1.31.1 fuses a quantized Conv whose weight scales lie along axis 1 into a `QLinearConv`, and applies the scales
/// along axis 0: a real bug.
#[test]
fn onnx_runtime_weight_scales_along_axis_1_are_diagnosed() {
    // only DequantizeLinear has scales along an axis in the minimal case
    const ALTERNATIVES: [&str; 2] = ["scale-along-axis-0", "dequantized-along-axis-0"];
    let mut campaign = against_variant("ort:cpu,opt=all", 150);
    campaign.options.families = vec!["qdq-conv".to_owned()];
    let outcome = match campaign.try_run() {
        Ok(outcome) => outcome,
        Err(error) => {
            skip("onnxruntime", error);
            return;
        }
    };
    let findings = outcome.findings();
    let finding = findings.iter().find(|finding| finding.diagnosis == ALTERNATIVES);
    let finding = finding.expect("the bug is found and explained");
    assert_eq!(finding.kind, Kind::WrongValues);
    let folder = outcome.out.join("findings").join(finding.signature.slug());
    assert_eq!(axis_of_weight_scales(&read_case(&folder).expect("a finding holds its case")), Some(1));
    assert!(finding.after.input_elements <= 4, "{}", finding.graph);
    assert!(finding.after.initializer_elements <= 16, "{}", finding.graph);
    let diagnosis = finding.detailed_diagnosis().expect("a finding of wrong values has a diagnosis");
    assert!(diagnosis.residual < diagnosis.unexplained, "{diagnosis}");
    let snapshot = fs::read_to_string(folder.join("finding.snap"));
    assert!(snapshot.unwrap().contains(&format!("diagnosis: {diagnosis}")));
}

/// A minimal case alone determines the signature: who runs it later finds the same finding.
#[test]
fn minimal_cases_show_their_findings_when_they_run_alone() {
    let mut campaign = against_variant("ort:cpu,opt=all", if is_full_tier() { 3000 } else { 200 });
    campaign.options.seed = 7;
    let families = ["conv", "deconv", "qdq-conv", "qdq-deconv", "block", "invalid"];
    campaign.options.families = families.map(str::to_owned).to_vec();
    let outcome = match campaign.try_run() {
        Ok(outcome) => outcome,
        Err(error) => {
            skip("onnxruntime", error);
            return;
        }
    };
    let findings = outcome.findings();
    assert!(findings.len() >= 3, "{} findings", findings.len());
    for finding in findings {
        let folder = Path::new("findings").join(finding.signature.slug());
        let case = read_case(&outcome.out.join(&folder)).expect("a finding holds its case");
        let mut alone = against_variant("ort:cpu,opt=all", 1);
        alone.options.minimize = false;
        alone.options.source = Some(Arc::new(move |_| case.clone()));
        let shown = alone.run();
        let snapshot = |out: &Path| fs::read_to_string(out.join(&folder).join("finding.snap"));
        let (expected, now) = (snapshot(&outcome.out).unwrap(), snapshot(&shown.out).unwrap_or_default());
        assert_eq!(now, expected, "found {:?}", shown.summary.findings);
    }
}

/// The axis, counted from the front, along which the scales of the weights of a case's Conv lie.
fn axis_of_weight_scales(case: &Case) -> Option<i64> {
    let nodes = &case.graph.nodes;
    let conv = nodes.iter().find(|node| matches!(node.op, Op::Conv(_)))?;
    let weights = nodes.iter().find(|node| node.outputs.first() == conv.inputs.get(1))?;
    let Op::DequantizeLinear(op) = &weights.op else { return None };
    let rank = case.graph.inputs.first()?.shape.as_ref()?.len() as i64;
    op.axis.map_or(Some(1), |axis| Some(axis.rem_euclid(rank)))
}

#[test]
fn onnx_runtime_conforms_from_rust_and_from_python() {
    let adapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters/onnxruntime_adapter.py");
    let python =
        python_with("onnxruntime, numpy").map(|python| format!("external:{python} {}", adapter.display()));
    for variant in ["ort:cpu".to_owned()].into_iter().chain(python) {
        let outcome = match against_variant(&variant, 200).try_run() {
            Ok(outcome) => outcome,
            Err(error) => {
                skip("onnxruntime", error);
                continue;
            }
        };
        assert_eq!(outcome.summary.findings, [], "{variant}");
        assert!(outcome.summary.compared > 150, "{:?}", outcome.summary);
        let started = outcome.events.iter().filter(|event| matches!(event, Event::WorkerStarted { .. }));
        assert!(started.count() <= 2, "no worker is replaced");
    }
}
