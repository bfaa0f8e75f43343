//! Two campaigns that start in one folder at once: one runs as if it were alone, the other is refused and changes nothing.
//!
//! Six starts by default; two hundred with `TWINFER_FULL=1 cargo test -p twinfer-tests --test end_to_end double_starts`.

use std::{env, fs, path::Path, process::Child};

use serde_json::Value;
use twinfer_tests::{Outcome, no_findings};

use crate::{
    fuzz::{findings, journal},
    survival::files,
    twinfer,
};

const CASES: usize = 3;

/// Starts a campaign of the generator's `seed` in `out`.
fn start(out: &Path, seed: usize) -> Child {
    let (cases, seed, out) = (CASES.to_string(), seed.to_string(), out.to_str().unwrap());
    let campaign =
        ["fuzz", "--backends", "ort:cpu", "--family", "invalid", "--no-minimize", "--cases", &cases];
    let place = ["--known", no_findings(), "--seed", &seed, "--out", out];
    twinfer(&[&campaign[..], &place].concat()).start_with_output()
}

fn ended(process: Child) -> Outcome {
    Outcome::of(process.wait_with_output().unwrap())
}

#[test]
fn one_of_two_starts_in_a_folder_wins_entirely() {
    let starts = if env::var_os("TWINFER_FULL").is_some() { 200 } else { 6 };
    for seed in 0..starts {
        let out = tempfile::tempdir().unwrap();
        let seeds = [2 * seed, 2 * seed + 1];
        let processes = seeds.map(|seed| start(out.path(), seed));
        let outcomes = processes.map(ended);
        let (won, lost): (Vec<_>, Vec<_>) =
            seeds.iter().zip(&outcomes).partition(|(_, outcome)| matches!(outcome.code, Some(0 | 1)));
        let shown = || outcomes.each_ref().map(Outcome::shown).concat();
        let ([(winner, _)], [(_, refused)]) = (&won[..], &lost[..]) else { panic!("{}", shown()) };
        let is_refusal = ["another campaign is writing", "already holds a run"];
        assert!(is_refusal.iter().any(|text| refused.stderr.contains(text)), "{}", shown());
        let run: Value = serde_json::from_slice(&fs::read(out.path().join("run.json")).unwrap()).unwrap();
        assert_eq!(run["seed"], **winner);
        let records = journal(out.path());
        assert_eq!(records.len(), CASES);
        assert!(records.iter().all(|record| record["provenance"]["seed"] == **winner), "{}", shown());
        let named =
            |finding: &String| records.iter().any(|record| record["findings"].to_string().contains(finding));
        assert!(findings(out.path()).iter().all(named));
    }
}

#[test]
fn finished_run_is_refused_and_stays() {
    let out = tempfile::tempdir().unwrap();
    assert!(matches!(ended(start(out.path(), 0)).code, Some(0 | 1)));
    let before = files(out.path());
    let again = ended(start(out.path(), 1));
    assert_eq!(again.code, Some(2), "{}", again.shown());
    assert!(again.stderr.contains("already holds a run"), "{}", again.stderr);
    assert!(files(out.path()) == before, "the refused start changed the run");
}

#[test]
fn journal_without_its_run_is_refused_and_stays() {
    let out = tempfile::tempdir().unwrap();
    assert!(matches!(ended(start(out.path(), 0)).code, Some(0 | 1)));
    fs::remove_file(out.path().join("run.json")).unwrap();
    let before = files(out.path());
    let again = ended(start(out.path(), 1));
    assert_eq!(again.code, Some(2), "{}", again.shown());
    assert!(again.stderr.contains("move it away, or give another --out"), "{}", again.stderr);
    assert!(files(out.path()) == before, "the refused start changed the folder");
}

#[test]
fn folders_that_the_journal_does_not_name_survive_resume() {
    let (out, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert!(matches!(ended(start(out.path(), 0)).code, Some(0 | 1)));
    let mine = out.path().join("findings/my notes");
    fs::create_dir(&mine).unwrap();
    for folder in [&mine, elsewhere.path()] {
        fs::write(folder.join("notes.txt"), "mine").unwrap();
    }
    let link = out.path().join("findings/link");
    std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
    let campaign = ["fuzz", "--backends", "ort:cpu", "--family", "invalid", "--no-minimize", "--cases", "5"];
    let place = ["--known", no_findings(), "--seed", "0", "--resume", "--out", out.path().to_str().unwrap()];
    let resumed = twinfer(&[&campaign[..], &place].concat()).run();
    assert!(matches!(resumed.code, Some(0 | 1)), "{}", resumed.shown());
    assert_eq!(journal(out.path()).len(), 5);
    assert!(mine.join("notes.txt").is_file() && link.join("notes.txt").is_file());
}
