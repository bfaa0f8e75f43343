//! `twinfer.toml`: defaults of a campaign, and known issues that do not fail it.

use std::{fmt::Write, fs, path::Path};

use tempfile::TempDir;
use twinfer_tests::{Outcome, golden, no_findings};

use crate::{culprit::adapter, fuzz::findings, twinfer};

/// Runs a campaign with findings, with `configuration` in its `twinfer.toml` and the findings in `known`.
fn fuzz(configuration: &str, known: &Path) -> (TempDir, Outcome) {
    fuzz_knowing(configuration, &[known])
}

fn fuzz_knowing(configuration: &str, known: &[&Path]) -> (TempDir, Outcome) {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("twinfer.toml");
    let configured = "backends = \"ort:cpu\"\nfamilies = [\"invalid\", \"qdq-conv\"]\nseed = 20\nbudget = { cases = 40 }\n";
    fs::write(&file, format!("{configured}{configuration}")).unwrap();
    let run = out.path().join("run");
    let arguments = ["fuzz", "--config", text(&file), "--out", text(&run), "--no-minimize"];
    let known: Vec<_> = known.iter().flat_map(|folder| ["--known", text(folder)]).collect();
    let outcome = twinfer(&[&arguments[..], &known].concat()).run();
    (out, outcome)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Known issues for each of `findings`, with the extra lines `more`, in TOML.
fn listed(findings: &[String], more: &str) -> String {
    findings.iter().fold(String::new(), |mut text, finding| {
        writeln!(text, "[[known]]\nfinding = \"{finding}\"\nreason = \"on purpose\"\n{more}").unwrap();
        text
    })
}

#[test]
fn configured_campaign_fails_for_unlisted_findings_only() {
    let nothing = Path::new(no_findings());
    let (out, found) = fuzz("", nothing);
    assert_eq!(found.code, Some(1), "{}", found.shown());
    let report = twinfer(&["report", out.path().join("run").to_str().unwrap()]).run().stdout;
    assert!(report.contains("40 cases") && report.contains("invalid, qdq-conv, full, seed 20"), "{report}");
    let all = findings(&out.path().join("run"));
    assert!(all.len() > 1, "{all:?}");
    let (_, known) = fuzz(&listed(&all, "versions = \">=1, <99\""), nothing);
    assert_eq!(known.code, Some(0), "{}", known.shown());
    assert!(known.stdout.contains(&format!("known     {}: on purpose", all[0])), "{}", known.stdout);
    let merged = merge(&out, &listed(&all, ""));
    assert_eq!(merged.code, Some(0), "{}", merged.shown());
    assert!(merged.stdout.contains(&format!("known     {}: on purpose", all[0])), "{}", merged.stdout);
    assert_eq!(merge(&out, &listed(&all[1..], "")).code, Some(1));
    let (_, one_less) = fuzz(&listed(&all[1..], ""), nothing);
    assert_eq!(one_less.code, Some(1), "{}", one_less.shown());
    let (_, other_versions) = fuzz(&listed(&all, "versions = \"<1\""), nothing);
    assert_eq!(other_versions.code, Some(1), "{}", other_versions.shown());
}

#[test]
fn findings_of_known_run_are_not_new() {
    let nothing = Path::new(no_findings());
    let (earlier, _) = fuzz("", nothing);
    let run = earlier.path().join("run");
    for known in [&[nothing, &run][..], &[&run.join("findings")]] {
        let (out, again) = fuzz_knowing("", known);
        assert_eq!(again.code, Some(0), "{}", again.shown());
        let later = out.path().join("run");
        assert_eq!(findings(&later), [""; 0]);
        let diff = |later: &Path| twinfer(&["diff", text(&run), text(later)]).run();
        let is_noted = |outcome: &Outcome| outcome.stderr.contains("began with different known findings");
        assert!(is_noted(&diff(&later)) && !is_noted(&diff(&run)), "{}", diff(&later).shown());
    }
}

/// Merges the campaign in `out`, which is the only shard.
#[test]
fn check_fails_for_findings_that_are_not_known_only() {
    let (earlier, _) = fuzz("", Path::new(no_findings()));
    let run = earlier.path().join("run");
    let case = run.join("findings").join(&findings(&run)[0]).join("case.json");
    let check = |known: &[&str]| {
        twinfer(&[&["check", text(&case), "--backends", "golden,ort:cpu"], known].concat()).run()
    };
    let new = check(&[]);
    assert_eq!(new.code, Some(1), "{}", new.shown());
    let known = check(&["--known", text(&run)]);
    assert_eq!(known.code, Some(0), "{}", known.shown());
    assert!(known.stdout.starts_with("1 known finding\n"), "{}", known.stdout);
}

#[test]
fn all_findings_of_run_are_adopted_at_once() {
    let (earlier, _) = fuzz("", Path::new(no_findings()));
    let run = earlier.path().join("run");
    let all = findings(&run);
    let path = |name: &str| earlier.path().join(name);
    let each: Vec<_> = fs::read_dir(run.join("findings")).unwrap().map(|one| one.unwrap().path()).collect();
    assert!(each.len() > all.len(), "recordings lie beside the findings");
    for (given, to) in [(vec![run.clone()], "run"), (vec![run.join("findings")], "folder"), (each, "each")] {
        let given: Vec<_> = given.iter().map(|path| text(path)).collect();
        let to = path(&format!("adopted-from-{to}"));
        let adopted = twinfer(&[&["adopt"][..], &given, &["--to", text(&to)]].concat()).run();
        assert_eq!(adopted.code, Some(0), "{}", adopted.shown());
        let mut kept: Vec<_> = fs::read_dir(to).unwrap().map(|one| one.unwrap().path()).collect();
        kept.retain(|path| path.join("finding.json").is_file());
        assert_eq!(kept.len(), all.len());
    }
    let folder = path("nothing");
    fs::create_dir(&folder).unwrap();
    let adopted = twinfer(&["adopt", text(&folder)]).run();
    assert_eq!(adopted.code, Some(2), "{}", adopted.shown());
}

fn merge(out: &TempDir, configuration: &str) -> Outcome {
    let (whole, file) = (tempfile::tempdir().unwrap(), out.path().join("issues.toml"));
    fs::write(&file, configuration).unwrap();
    let (run, to) = (out.path().join("run"), whole.path().join("whole"));
    twinfer(&["merge", text(&run), "--config", text(&file), "--out", text(&to)]).run()
}

/// A folder with the finding of a model that crashes its worker; if `is_fixed`, with a model that does not.
fn stored(is_fixed: bool) -> TempDir {
    let name = "ort-cpu-parse-crash-convtranspose-0c8bd0e2";
    let known = tempfile::tempdir().unwrap();
    fs::create_dir(known.path().join(name)).unwrap();
    for file in ["finding.json", "case.json"] {
        let mut text = fs::read_to_string(golden().join("cases").join(name).join(file)).unwrap();
        if is_fixed {
            let invalid = "{\n    \"invalid\": \"group-positive\"\n  }";
            text = text.replace("\"group\": 0", "\"group\": 1").replace(invalid, "\"valid\"");
        }
        fs::write(known.path().join(name).join(file), text).unwrap();
    }
    known
}

#[test]
fn issue_of_other_versions_is_not_known() {
    let (earlier, _) = fuzz("", Path::new(no_findings()));
    let found = findings(&earlier.path().join("run"));
    let (_out, outcome) = fuzz(&listed(&found, "versions = \"<0.1\""), Path::new(no_findings()));
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    for (word, expected) in [("not run   ", found.len()), ("known     ", 0)] {
        assert_eq!(
            outcome.stdout.matches(&format!("{word}ort")).count(),
            expected,
            "{word}: {}",
            outcome.shown()
        );
    }
}

#[test]
fn known_issue_with_conforming_case_is_fixed() {
    let issue = listed(&["ort-cpu-parse-crash-convtranspose-0c8bd0e2".to_owned()], "");
    for (is_fixed, word) in [(false, "known     ort-cpu"), (true, "fixed     ort-cpu")] {
        let (_out, outcome) = fuzz(&issue, stored(is_fixed).path());
        assert!(outcome.stdout.contains(word), "{}", outcome.shown());
    }
}

#[test]
fn overdue_issue_is_reported_and_unseen_is_not_fixed() {
    let issue = listed(&["ort-cpu-parse-hang-nothing".to_owned()], "review = 2020-01-31");
    let (_out, outcome) = fuzz(&issue, Path::new(no_findings()));
    let overdue = "review    ort-cpu-parse-hang-nothing: review overdue since 2020-01-31";
    assert!(outcome.stdout.contains(overdue), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("not seen  ort-cpu-parse-hang-nothing"), "{}", outcome.stdout);
    let (_out, outcome) = fuzz(&listed(&["trt-parse-hang-nothing".to_owned()], ""), Path::new(no_findings()));
    assert!(outcome.stdout.contains("not run   trt-parse-hang-nothing"), "{}", outcome.stdout);
}

#[test]
fn configuration_error_names_line() {
    let (_out, outcome) = fuzz("colour = \"red\"\n", Path::new(no_findings()));
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains("line 5: unknown field `colour`"), "{}", outcome.stderr);
}

/// Any wrong values of a Conv count for a known finding that nothing explains. Its own case tells if they have another reason.
#[test]
fn known_finding_with_another_error_hides_no_bug() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (script, bug) = (path("worker.sh"), path("bug"));
    let Some(worker) = adapter("mutated_adapter.py", "--bug $(cat \"$1\")") else { return };
    fs::write(&script, format!("exec {}\n", worker.trim_start_matches("external:"))).unwrap();
    // the command stays, and with it what the backend is known by
    let backends = format!("golden,external:sh {} {}", script.display(), bug.display());
    let fuzz = |name: &str, out: &str, known: &Path| {
        fs::write(&bug, name).unwrap();
        let out = path(out);
        let campaign = ["fuzz", "--family", "conv", "--cases", "60", "--seed", "5", "--backends", &backends];
        let rest = ["--out", text(&out), "--known", text(known), "--all"];
        twinfer(&[&campaign[..], &rest].concat()).run()
    };
    let first = fuzz("one-percent-more", "first", Path::new(no_findings()));
    assert_eq!(first.code, Some(1), "{}", first.shown());
    let known = path("first");
    let again = fuzz("one-percent-more", "again", &known);
    assert_eq!(again.code, Some(0), "{}", again.shown());
    for (bug, error) in [
        ("negated", "the error in its stored case is now 2, up from 0.01"),
        ("not-a-number", "its stored case gives NaN or infinity now"),
    ] {
        let other = fuzz(bug, bug, &known);
        assert_eq!(other.code, Some(1), "{}", other.shown());
        for words in ["1 known finding; 1 known finding may hide another bug\n", error, "may show a new bug"]
        {
            assert!(other.stdout.contains(words), "{words}: {}", other.shown());
        }
    }
}
