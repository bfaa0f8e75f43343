//! Damaged input files: each gives an error and an exit code, never a panic.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use twinfer_tests::golden;

use crate::{fuzz::fuzz, twinfer};

/// Damaged versions to try per file.
const DAMAGES: u64 = 60;

/// `bytes` with one damage that `seed` chooses: truncated, a bit flipped, a part repeated, or a number out of bounds.
fn damaged(bytes: &[u8], seed: u64) -> Vec<u8> {
    let draw = |salt: u64, below: usize| {
        let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(salt).rotate_left(29);
        (mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as usize % below.max(1)
    };
    let place = draw(1, bytes.len());
    let mut damaged = bytes.to_vec();
    match seed % 4 {
        0 => damaged.truncate(place),
        1 => damaged[place] ^= 1 << draw(2, 8),
        2 => {
            let end = bytes.len().min(place + draw(3, 64));
            damaged.splice(place..place, bytes[place..end].iter().copied());
        }
        _ => {
            let digit =
                bytes.iter().skip(place).position(u8::is_ascii_digit).map_or(0, |ahead| place + ahead);
            damaged.splice(digit..=digit, *b"98765432109876543210");
        }
    }
    damaged
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs a command, which must not start workers, on many damaged versions of a file.
fn assert_survives_damage(file: &Path, command: &[&str]) {
    let whole = fs::read(file).unwrap();
    let mut rejected = 0;
    for seed in 0..DAMAGES {
        fs::write(file, damaged(&whole, seed)).unwrap();
        let outcome = twinfer(command).run();
        assert!(matches!(outcome.code, Some(0..=3)), "{} {seed}: {}", file.display(), outcome.shown());
        rejected += u64::from(outcome.code == Some(2));
    }
    fs::write(file, whole).unwrap();
    assert!(rejected > 0, "no damage of {} was noticed", file.display());
}

fn copied(name: &str) -> (TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let (from, to) = (golden().join("catalogue").join(name), parent.path().join(name));
    fs::create_dir(&to).unwrap();
    for file in ["case.json", "topic.json"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    fs::copy(from.with_extension("observed.json"), to.with_extension("observed.json")).unwrap();
    (parent, to)
}

#[test]
fn damaged_cases_and_observations_are_rejected() {
    let (_parent, folder) = copied("ort-10020-empty-then-nonempty");
    let show = ["check", text(&folder), "--recorded"];
    for file in [folder.join("case.json"), folder.join("topic.json"), folder.with_extension("observed.json")]
    {
        assert_survives_damage(&file, &show);
    }
}

#[test]
fn damaged_run_directories_are_rejected() {
    let run = tempfile::tempdir().unwrap();
    fuzz(
        run.path(),
        &["--backends", "ort:cpu", "--family", "invalid", "--seed", "20", "--cases", "20", "--no-minimize"],
    );
    assert_survives_damage(&run.path().join("run.json"), &["report", text(run.path())]);
    let finding = fs::read_dir(run.path().join("findings")).unwrap().flatten();
    let finding = finding.map(|entry| entry.path().join("finding.json")).find(|path| path.is_file());
    assert_survives_damage(&finding.expect("a finding"), &["diff", text(run.path()), text(run.path())]);
}

#[test]
fn damaged_configuration_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("twinfer.toml");
    let configuration = "seed = 7\njobs = 2\nbudget = { cases = 40 }\n\n[[known]]\nfinding = \"trt-build-b\"\nreason = \"c\"\n\
                         versions = \">=1.2, <3\"\nreview = 2027-03-01\n";
    fs::write(&file, configuration).unwrap();
    assert_survives_damage(
        &file,
        &["fuzz", "--backends", "golden", "--config", text(&file), "--out", text(folder.path())],
    );
}
