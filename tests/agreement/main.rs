//! Golden agrees with ONNX Runtime on the CPU without graph optimizations, on generated cases of every valid family.
//!
//! `TWINFER_FULL=1` runs 200,000 cases per family instead of 400; `TWINFER_RESULTS` names a folder for the table.

mod tally;

use std::{env, fs, path::Path};

use twinfer_generators::{Distribution, Family};
use twinfer_store::{Records, read_run};
use twinfer_tests::{Twinfer, no_findings};

use tally::Tally;

const SEED: u64 = 41;

#[test]
fn unoptimized_onnx_runtime_stays_within_golden_bound() {
    let count: u64 = if env::var_os("TWINFER_FULL").is_some() { 200_000 } else { 400 };
    let tallies = Family::VALID.map(|family| tally(family, count));
    let text = tally::text(SEED, count, &tallies);
    println!("{text}");
    if let Some(folder) = env::var_os("TWINFER_RESULTS") {
        // tests run in the folder of their crate, results are named from that of the workspace
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
        fs::write(folder.join("golden-agreement.md"), &text).expect("the results folder can be written");
    }
    for tally in &tallies {
        assert!(tally.divergences.is_empty(), "{}: {:#?}", tally.family, tally.divergences);
        assert_eq!(tally.cases(), count, "{}: cases are missing", tally.family);
        let mut open = tally.unspecified.keys();
        assert!(
            open.all(|entry| !entry.starts_with("invalid graph")),
            "{}: a valid case is invalid",
            tally.family
        );
        assert!(tally.compared() * 10 > count * 8, "{}: {} were compared", tally.family, tally.compared());
    }
}

/// What a campaign over one family comes to.
fn tally(family: Family, count: u64) -> Tally {
    let out = tempfile::tempdir().expect("a temporary folder");
    let out = out.path().join("run");
    let (folder, count, seed) = (out.to_str().expect("a path in UTF-8"), count.to_string(), SEED.to_string());
    let arguments = [
        "fuzz",
        "--backends",
        "golden,ort:cpu,opt=off",
        "--family",
        family.name(),
        "--cases",
        &count,
        "--seed",
        &seed,
        "--no-minimize",
        "--known",
        no_findings(),
        "--out",
        folder,
    ];
    let outcome = Twinfer::new(env!("CARGO_BIN_EXE_twinfer-under-test"), &arguments).run();
    assert!(matches!(outcome.code, Some(0 | 1)), "{}", outcome.shown());
    let mut tally = Tally::new(family);
    let stream = family.stream(Distribution::Full, SEED);
    let run = read_run(&out).expect("a campaign keeps its run");
    for record in Records::open(&out, &run).expect("a campaign keeps a journal") {
        let record = record.expect("a whole record");
        let index = record.provenance.as_ref().expect("the case was generated").index;
        tally.take(&stream.case(index), &record);
    }
    tally
}
