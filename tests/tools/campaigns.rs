//! `compare-campaigns` runs campaigns with two binaries and compares what they write; the binaries are scripts that write the
//! journal of a campaign.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use twinfer_tests::Outcome;

use crate::{DIFFERENT, EQUAL, UNUSABLE, tool};

/// Writes a journal, slowly if the campaign may be killed, or merges the journals of shards; goes on with `--resume`.
const CAMPAIGN: &str = r#"#!/usr/bin/env python3
import json, pathlib, sys, time
arguments = sys.argv[1:]
after = lambda option, default=None: arguments[arguments.index(option) + 1] if option in arguments else default
out = pathlib.Path(after("--out"))
out.mkdir(exist_ok=True)
(out / "run.json").write_text('{"seed": 11}')
journal = out / "journal.jsonl"
if arguments[0] == "merge":
    parts = [pathlib.Path(part) / "journal.jsonl" for part in arguments[1:arguments.index("--out")]]
    journal.write_text("".join(part.read_text() for part in parts))
    sys.exit(0)
shard, shards = map(int, after("--shard", "0/1").split("/"))
begin = len(journal.read_text().splitlines()) if "--resume" in arguments else 0
with journal.open("a") as lines:
    for number in range(begin, int(after("--cases"))):
        index = number * shards + shard
        record = {"provenance": {"index": index}, "verdict": "VERDICT" if index == 5 else "conforms"}
        lines.write(json.dumps(record) + "\n")
        lines.flush()
        time.sleep(0.001 if "--inject" in arguments else 0)
sys.exit(EXIT)
"#;

/// A binary in `folder` that gives case 5 the verdict `verdict` and ends with `exit`.
fn binary(folder: &Path, verdict: &str, exit: u8) -> PathBuf {
    let path = folder.join(format!("twinfer-{verdict}-{exit}"));
    fs::write(&path, CAMPAIGN.replace("VERDICT", verdict).replace("EXIT", &exit.to_string())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn compare(folder: &Path, old: &Path, new: &Path, options: &[&str]) -> Outcome {
    let out = folder.join("out");
    let paths = [old, new, &out].map(|path| path.to_str().unwrap());
    let campaigns = ["--only", "families", "--only", "killed", "--only", "shards"];
    tool("compare-campaigns", [&paths[..], &campaigns, options].concat())
}

#[test]
fn campaigns_of_equal_versions_are_equal_and_can_be_reused() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (binary(folder.path(), "conforms", 0), binary(folder.path(), "conforms", 1));
    let outcome = compare(folder.path(), &old, &new, &[]);
    assert_eq!(outcome.code, Some(EQUAL), "{}", outcome.shown());
    for (campaign, cases) in [("families", "3,000"), ("killed", "600"), ("shards", "2,000")] {
        let row = outcome.stdout.lines().find(|row| row.starts_with(campaign)).unwrap();
        assert!(row.ends_with(&format!("{cases} cases and 0 findings compared: equal")), "{row}");
    }
    // the older version is not needed again
    fs::write(&old, "").unwrap();
    let other = binary(folder.path(), "diverges", 1);
    let outcome = compare(folder.path(), &old, &other, &["--reuse"]);
    assert_eq!(outcome.code, Some(DIFFERENT), "{}", outcome.shown());
    assert_eq!(outcome.stdout.matches("reused").count(), 3, "{}", outcome.stdout);
    let line = r#"killed: case 5 verdict: "conforms" became "diverges""#;
    assert!(outcome.stdout.contains(line), "{}", outcome.stdout);
    let outcome = compare(folder.path(), &old, &other, &["--reuse", "--rename", "conforms=diverges"]);
    assert_eq!(outcome.code, Some(EQUAL), "{}", outcome.shown());
}

#[test]
fn campaign_that_does_not_complete_is_unusable() {
    let folder = tempfile::tempdir().unwrap();
    let (old, broken) = (binary(folder.path(), "conforms", 0), binary(folder.path(), "conforms", 3));
    let outcome = compare(folder.path(), &old, &broken, &[]);
    assert_eq!(outcome.code, Some(UNUSABLE), "{}", outcome.shown());
    assert!(outcome.stderr.contains("families: `fuzz` ended with 3; read "), "{}", outcome.stderr);
    let outcome = compare(folder.path(), &folder.path().join("absent"), &old, &[]);
    assert_eq!(outcome.code, Some(UNUSABLE), "{}", outcome.shown());
    assert!(outcome.stderr.contains("absent: no such file"), "{}", outcome.stderr);
}
