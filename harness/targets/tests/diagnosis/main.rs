//! How often a diagnosis is right: bugs are planted in ONNX Runtime without golden, and golden has to name them.
//!
//! `TWINFER_DIAGNOSED_CASES` asks for as many cases of each bug that change the output (10 of some bugs unless told), and
//! `TWINFER_RESULTS` names a folder for the report.

mod bug;
mod report;
mod trial;

use std::{env, fs, path::Path};

use twinfer_golden::{Combination, Mutant};

use bug::Bug;
use report::{Report, Sort};
use trial::{Python, try_all};

/// Of all answers where the bug changes the output, the share that must hold the truth, and hold nothing else.
const RIGHT: f64 = 0.95;
const SINGLE: f64 = 0.8;

/// The bugs that are planted by default: some of each nature, and strangers.
const SOME: [&str; 8] = [
    "pads-swapped",
    "kernel-reversed",
    "bias-dropped",
    "weights-unquantized",
    "dequantized-on-other-axis",
    "output-shape-ignored",
    "one-percent-more",
    "output-channels-rolled",
];

/// Bugs of the adapter that no mutant of golden is.
const STRANGERS: [&str; 15] = [
    "one-percent-more",
    "negated",
    "kernel-transposed",
    "last-tap-dropped",
    "first-input-channel-dropped",
    "output-channels-rolled",
    "last-position-zero",
    "one-element-doubled",
    "bias-doubled",
    "bias-rolled",
    "stride-long",
    "edges-replicated",
    "scale-of-the-neighbor",
    "dequantized-one-step-up",
    "least-bit-dropped",
];

#[test]
fn planted_bugs_are_named_and_strangers_are_unexplained() {
    let Some(python) = Python::with("onnx, onnxruntime, numpy") else {
        twinfer_prerequisites::skip("python", "no Python imports onnx, onnxruntime and numpy");
        return;
    };
    let (wanted, bugs) = match env::var("TWINFER_DIAGNOSED_CASES") {
        Ok(wanted) => (wanted.parse().expect("a number of cases"), bugs()),
        Err(_) => (10, bugs().into_iter().filter(|bug| SOME.contains(&bug.name)).collect()),
    };
    let trials = try_all(&bugs, wanted, &python);
    let report = Report::of(wanted, &trials);
    println!("{report}");
    if let Some(folder) = env::var_os("TWINFER_RESULTS") {
        // tests run in the folder of their crate, results are named from that of the workspace
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        fs::write(folder.join("diagnosis.md"), report.to_string())
            .expect("the results folder can be written");
    }
    assert!(!trials.is_empty(), "no bug is called so");
    if let Some(mutants) = report.total(Sort::Mutant) {
        assert!(mutants.named() >= RIGHT, "the truth is in too few answers\n{report}");
        assert!(mutants.singled_out() >= SINGLE, "too few answers are a single mutant\n{report}");
    }
    if let Some(strangers) = report.total(Sort::Stranger) {
        assert!(strangers.unexplained() >= RIGHT, "too many strangers are explained\n{report}");
    }
}

#[test]
fn adapter_has_every_bug_that_is_tried() {
    let Some(python) = Python::with("onnx, onnxruntime, numpy") else { return };
    let offered = python.offered();
    let tried = Mutant::ALL.iter().map(|mutant| mutant.name()).chain(STRANGERS);
    let missing: Vec<_> = tried.filter(|name| !offered.iter().any(|bug| bug == name)).collect();
    assert!(missing.is_empty(), "add them to tests/adapters/mutated: {missing:?}");
}

/// Every mutant and combination of golden, then the strangers. `TWINFER_DIAGNOSED_BUGS` restricts them to those named.
fn bugs() -> Vec<Bug> {
    let known = Combination::singles().chain(Combination::several()).map(Bug::known);
    let all = known.chain(STRANGERS.map(Bug::stranger));
    match env::var("TWINFER_DIAGNOSED_BUGS") {
        Ok(names) => all.filter(|bug| names.split(',').any(|name| name == bug.name)).collect(),
        Err(_) => all.collect(),
    }
}
