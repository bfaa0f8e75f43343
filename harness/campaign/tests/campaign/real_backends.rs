use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use twinfer_case::{Case, Event, Kind};
use twinfer_onnx::Op;
use twinfer_targets::read_case;

use crate::setup::against_variant;

/// A Python with the packages that an adapter imports: `TWINFER_PYTHON`, or `python3`.
fn python_with(packages: &str) -> Option<String> {
    let python = std::env::var("TWINFER_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let imported = Command::new(&python)
        .args(["-c", &format!("import {packages}")])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !imported {
        eprintln!("skipped: {python} does not import {packages}; TWINFER_PYTHON names one that does");
    }
    imported.then_some(python)
}

pub fn swapped_pads() {
    let Some(python) = python_with("onnx, onnxruntime, numpy") else { return };
    let adapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/campaign/adapters/swapped_pads.py");
    let production = against_variant(&format!("external:{python} {}", adapter.display()), 60);
    let started = Instant::now();
    let outcome = production.run();
    println!("the campaign took {:?}", started.elapsed());
    let findings = outcome.findings();
    let finding = findings.first().expect("the bug is found");
    assert_eq!(finding.kind, Kind::WrongValues);
    assert_eq!(finding.diagnosis, ["pads-swapped"]);
    assert_eq!(finding.after.nodes, 1, "{}", finding.graph);
    assert!(finding.after.input_elements <= 32, "{}", finding.graph);
    assert!(finding.graph.starts_with("ConvTranspose"), "{}", finding.graph);
}

/// ONNX Runtime 1.31.1 makes a `QLinearConv` of a quantised Conv whose weight scales lie along axis 1, and applies them along
/// axis 0: a bug that nobody planted.
pub fn weight_scales_along_axis_1() {
    let mut production = against_variant("ort:cpu,opt=all", 400);
    production.options.families = vec!["qdq-conv".to_owned()];
    let outcome = match production.try_run() {
        Ok(outcome) => outcome,
        Err(error) => {
            eprintln!("skipped: {error}");
            return;
        }
    };
    let findings = outcome.findings();
    let finding = findings.iter().find(|finding| finding.diagnosis == ["scale-on-other-axis"]);
    let finding = finding.expect("the bug is found and explained");
    assert_eq!(finding.kind, Kind::WrongValues);
    let folder = outcome.out.join("findings").join(finding.signature.slug());
    assert_eq!(axis_of_weight_scales(&read_case(&folder).expect("a finding holds its case")), Some(1));
    assert!(finding.after.input_elements <= 4, "{}", finding.graph);
    assert!(finding.after.initializer_elements <= 16, "{}", finding.graph);
    let diagnosis = finding.detailed_diagnosis().expect("a finding of wrong values has a diagnosis");
    assert!(diagnosis.residual < diagnosis.unexplained, "{diagnosis}");
    let said = fs::read_to_string(folder.join("finding.snap"));
    assert!(said.unwrap().contains(&format!("diagnosis: {diagnosis}")));
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

pub fn onnx_runtime() {
    let adapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters/onnxruntime_adapter.py");
    let python =
        python_with("onnxruntime, numpy").map(|python| format!("external:{python} {}", adapter.display()));
    for variant in ["ort:cpu".to_owned()].into_iter().chain(python) {
        let outcome = match against_variant(&variant, 200).try_run() {
            Ok(outcome) => outcome,
            Err(error) => {
                eprintln!("skipped: {error}");
                continue;
            }
        };
        assert_eq!(outcome.summary.findings, [], "{variant}");
        assert!(outcome.summary.compared > 150, "{:?}", outcome.summary);
        let started = outcome.events.iter().filter(|event| matches!(event, Event::WorkerStarted { .. }));
        assert!(started.count() <= 2, "no worker is replaced");
    }
}
