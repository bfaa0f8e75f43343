//! Generated models before programs that this project did not write: the ONNX checker, its strict shape inference and
//! ONNX Runtime.
//!
//! `TWINFER_CHECKED_CASES` sets the cases a family (200 unless told), and `TWINFER_RESULTS` a folder for the report.

mod judges;
mod report;

use std::{env, fs, path::Path};

use twinfer_generators::{Distribution, Family};
use twinfer_prerequisites::skip;

use judges::{Judges, Ruling};
use report::{InvalidReport, ValidReport};

const SEED: u64 = 20;

/// Rules whose breach some models keep past all three judges; it shows, if at all, when they are executed.
const LEFT_TO_EXECUTION: &[&str] = &[
    "axis-range",
    "bias-shape",
    "group-positive",
    "input-channels",
    "kernel-shape",
    "output-extent",
    "output-padding",
    "output-shape-positive",
    "parameter-shape",
    "scale-shape",
    "zero-point-shape",
];

#[test]
fn independent_programs_accept_valid_and_refuse_invalid_models() {
    let judges = match Judges::summon() {
        Ok(judges) => judges,
        Err(missing) => {
            skip("python", missing);
            return;
        }
    };
    let count =
        env::var("TWINFER_CHECKED_CASES").map_or(200, |count| count.parse().expect("a number of cases"));

    let valid = Family::VALID.map(|family| ValidReport::of(family, &cases(&judges, family, count)));
    let invalid = InvalidReport::of(&cases(&judges, Family::Invalid, count));
    let text = report::text(count, &valid, &invalid);
    println!("{text}");
    if let Some(folder) = env::var_os("TWINFER_RESULTS") {
        // tests run in the folder of their crate, results are named from that of the workspace
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
        fs::write(folder.join("independent-check.md"), &text).expect("the results folder can be written");
    }

    for report in &valid {
        assert!(report.unexplained.is_empty(), "{}: {:#?}", report.family, report.unexplained);
    }
    let unknown: Vec<_> = invalid.passed_by_all().filter(|rule| !LEFT_TO_EXECUTION.contains(rule)).collect();
    assert!(unknown.is_empty(), "no judge refuses a breach of {unknown:?}");
}

fn cases(judges: &Judges, family: Family, count: u64) -> Vec<(twinfer_case::Case, Ruling)> {
    let stream = family.stream(Distribution::Full, SEED);
    let cases: Vec<_> = (0..count).map(|index| stream.case(index)).collect();
    let rulings = judges.rule(cases.iter().map(|case| case.graph.encode()));
    cases.into_iter().zip(rulings).collect()
}
