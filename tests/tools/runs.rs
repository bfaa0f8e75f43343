//! `compare-runs` accepts what differs between two runs of the same work and reports everything else.

use std::{fs, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{DIFFERENT, EQUAL, UNUSABLE, tool};

/// A change of a run directory.
type Change = fn(&Path);

const FINDING: &str = "findings/ort-cpu-execute-wrong-values-bias-dropped-00000000";
const DETAIL: &str = "output 0: 2 of 8 elements differ, a quantised bias";

/// What the newer run may differ in.
const ACCEPTED: &[(&str, Change)] = &[
    ("nothing", |_| ()),
    ("timings", |run| edit_case(run, 1, "/variants/0/timings/0/micros", json!(9))),
    ("format", |run| edit_case(run, 1, "/format", json!(9))),
    ("start", |run| edit(&run.join("run.json"), "/started", json!(9))),
    ("machine", |run| edit(&run.join("run.json"), "/machine/cores", json!(9))),
    ("version of twinfer", |run| edit(&run.join("run.json"), "/twinfer", json!("9.0.0"))),
    ("workforce", |run| edit(&run.join("run.json"), "/workforce", json!([]))),
    ("time", |run| {
        edit_text(&run.join("run.json"), |text| {
            text.replacen('{', "{\"processor\":{},\"totals\":{\"seconds\":9,\"workers_lost\":1},", 1)
        });
    }),
    ("id", |run| edit_text(&run.join("run.json"), |text| text.replacen('{', "{\"id\":\"another\",", 1))),
    ("checksums and stated indices", |run| {
        edit_journal(run, |lines| {
            for (index, line) in lines.iter_mut().enumerate() {
                *line = line.replacen('{', &format!("{{\"index\":{index},\"checksum\":\"{index}\","), 1);
            }
            lines.reverse();
        });
    }),
    ("order of cases", |run| edit_journal(run, |lines| lines.reverse())),
    ("renamed key", |run| {
        edit_text(&run.join("journal.jsonl"), |text| text.replace("\"veils\"", "\"masks\""));
    }),
    ("spelling", |run| {
        edit_finding(run, "/divergences/0/detail", json!(DETAIL.replace("quantised", "quantized")));
    }),
    ("timings of an observation", |run| {
        edit(&run.join(format!("{FINDING}.observed.json")), "/observed/0/observation/timings", json!([1]));
    }),
    ("case decided again alike", |run| {
        let journal = fs::read_to_string(run.join("journal.jsonl")).unwrap();
        fs::write(run.join("revisited.jsonl"), journal.lines().next().unwrap().to_owned() + "\n").unwrap();
    }),
    ("debug log", |run| fs::write(run.join("debug.log"), "started").unwrap()),
];

/// What the newer run may not differ in, and where that is reported.
const PLANTED: &[(&str, Change)] = &[
    ("run.json seed: 11 became 12", |run| edit(&run.join("run.json"), "/seed", json!(12))),
    ("case 1 variants[0].verdict", |run| edit_case(run, 1, "/variants/0/verdict", json!("vacuous"))),
    ("case 2 masks[0].finding", |run| edit_case(run, 2, "/veils/0/finding", json!("another"))),
    ("case 0 macs: 0 became 0.0", |run| edit_case(run, 0, "/macs", json!(0.0))),
    ("case 0 macs: 0 became false", |run| edit_case(run, 0, "/macs", json!(false))),
    ("case 0 notes[0].bound-used: 0.0 became -0.0", |run| {
        edit_case(run, 0, "/notes/0/bound-used", json!(-0.0));
    }),
    ("case 1: is absent now", |run| edit_journal(run, |lines| drop(lines.remove(1)))),
    ("case 7: was absent", |run| {
        edit_journal(run, |lines| lines.push(lines[0].replace("\"index\":0", "\"index\":7")));
    }),
    // the case that was decided again is the same, its verdict is not
    ("case 0 variants[0].stage", |run| {
        let journal = fs::read_to_string(run.join("journal.jsonl")).unwrap();
        let decided = journal.lines().next().unwrap().replace("\"stage\":\"execute\"", "\"stage\":\"parse\"");
        fs::write(run.join("revisited.jsonl"), decided + "\n").unwrap();
    }),
    ("finding.json divergences[0].detail", |run| {
        edit_finding(run, "/divergences/0/detail", json!(DETAIL.replace('2', "3")));
    }),
    ("finding.json divergences[0].documented", |run| {
        // an identifier, in which spelling counts
        edit_finding(run, "/divergences/0/documented", json!("symmetric-quantization"));
    }),
    ("finding.json seen_in: 1 elements became 0", |run| edit_finding(run, "/seen_in", json!([]))),
    ("finding.snap line 2", |run| {
        edit_text(&run.join(FINDING).join("finding.snap"), |text| text.replace("bias", "weight"));
    }),
    ("model.onnx: 4 bytes became 4 other bytes", |run| {
        fs::write(run.join(FINDING).join("model.onnx"), [0, 1, 2, 4]).unwrap();
    }),
    ("test_data_set_0/input_0.pb: is absent now", |run| {
        fs::remove_file(run.join(FINDING).join("test_data_set_0/input_0.pb")).unwrap();
    }),
    ("preceding/0.json: was absent", |run| {
        fs::create_dir(run.join(FINDING).join("preceding")).unwrap();
        fs::write(run.join(FINDING).join("preceding/0.json"), "{}").unwrap();
    }),
    ("finding ort-cpu-execute-wrong-values-bias-dropped-00000000: is absent now", |run| {
        fs::remove_dir_all(run.join(FINDING)).unwrap();
    }),
    (".unfinished-1: is in one run only", |run| fs::write(run.join(".unfinished-1"), "").unwrap()),
];

/// What makes a run directory unusable, and what is reported then.
const DAMAGES: &[(&str, Change)] = &[
    ("cannot read", |run| fs::remove_file(run.join("run.json")).unwrap()),
    ("cannot read", |run| fs::remove_file(run.join("journal.jsonl")).unwrap()),
    ("run.json: not JSON", |run| fs::write(run.join("run.json"), "{").unwrap()),
    ("journal.jsonl line 2: not JSON", |run| edit_journal(run, |lines| lines[1].truncate(9))),
    ("journal.jsonl line 4: case 0 is there twice", |run| {
        edit_journal(run, |lines| lines.push(lines[0].clone()));
    }),
    ("not a folder", |run| fs::remove_dir_all(run).unwrap()),
];

/// A run of three cases, of which the last shows a finding.
fn run() -> TempDir {
    let run = tempfile::tempdir().unwrap();
    let info = json!({
        "format": 2, "twinfer": "0.1.0", "seed": 11, "families": ["conv"], "budget": {"cases": 3}, "shard": [0, 1],
        "jobs": 1, "variants": [{"variant": "ort:cpu"}], "machine": {"cores": 1}, "workforce": [1], "started": 1,
    });
    write(&run.path().join("run.json"), &info);
    let journal = [0, 1, 2].map(|index| case(index).to_string() + "\n").concat();
    fs::write(run.path().join("journal.jsonl"), journal).unwrap();
    let finding = run.path().join(FINDING);
    fs::create_dir_all(finding.join("test_data_set_0")).unwrap();
    fs::write(finding.join("model.onnx"), [0, 1, 2, 3]).unwrap();
    fs::write(finding.join("test_data_set_0/input_0.pb"), [0]).unwrap();
    fs::write(finding.join("finding.snap"), "signature: a\nwrong-values: the bias is dropped\n").unwrap();
    let divergence = json!({"detail": DETAIL, "documented": "symmetric-quantisation"});
    write(&finding.join("finding.json"), &json!({"divergences": [divergence], "seen_in": [1]}));
    let observed = json!({"observed": [{"observation": {"timings": []}}]});
    write(&run.path().join(format!("{FINDING}.observed.json")), &observed);
    run
}

fn case(index: u64) -> Value {
    let timings = json!([{"stage": "execute", "micros": index}]);
    let variant =
        json!({"variant": "ort:cpu", "stage": "execute", "verdict": "conforms", "timings": timings});
    json!({
        "format": 2, "case": format!("{index:064x}"), "provenance": {"family": "conv", "seed": 11, "index": index},
        "variants": [variant], "notes": [{"bound-used": 0.0}], "veils": [{"finding": FINDING}], "macs": index,
    })
}

fn write(path: &Path, value: &Value) {
    fs::write(path, value.to_string()).unwrap();
}

fn edit_text(path: &Path, change: impl FnOnce(String) -> String) {
    fs::write(path, change(fs::read_to_string(path).unwrap())).unwrap();
}

fn edit(path: &Path, pointer: &str, value: Value) {
    let mut content: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    *content.pointer_mut(pointer).unwrap() = value;
    write(path, &content);
}

fn edit_finding(run: &Path, pointer: &str, value: Value) {
    edit(&run.join(FINDING).join("finding.json"), pointer, value);
}

fn edit_journal(run: &Path, change: impl FnOnce(&mut Vec<String>)) {
    edit_text(&run.join("journal.jsonl"), |text| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        change(&mut lines);
        lines.join("\n") + "\n"
    });
}

fn edit_case(run: &Path, index: usize, pointer: &str, value: Value) {
    edit_journal(run, |lines| {
        let mut record: Value = serde_json::from_str(&lines[index]).unwrap();
        *record.pointer_mut(pointer).unwrap() = value;
        lines[index] = record.to_string();
    });
}

/// Compares a run with one that was changed: the exit code and all that was printed.
fn compare(change: Change, options: &[&str]) -> (Option<i32>, String) {
    let (old, new) = (run(), run());
    change(new.path());
    let folders = [old.path(), new.path()].map(|path| path.to_str().unwrap());
    let outcome = tool("compare-runs", [&folders[..], options].concat());
    (outcome.code, outcome.stdout + &outcome.stderr)
}

#[test]
fn runs_that_differ_in_time_machine_or_version_are_equal() {
    for (change, apply) in ACCEPTED {
        let (code, printed) = compare(*apply, &[]);
        assert_eq!(code, Some(EQUAL), "{change}: {printed}");
        assert_eq!(printed, "3 cases and 1 findings compared: equal\n", "{change}");
    }
}

#[test]
fn planted_differences_are_reported_with_case_and_path() {
    for (reported, apply) in PLANTED {
        let (code, printed) = compare(*apply, &[]);
        assert_eq!(code, Some(DIFFERENT), "{reported}: {printed}");
        assert!(printed.contains(reported), "{reported} is not in {printed}");
        assert!(printed.ends_with("compared: 1 differences\n"), "{printed}");
    }
}

#[test]
fn damaged_runs_are_unusable() {
    for (reported, apply) in DAMAGES {
        let (code, printed) = compare(*apply, &[]);
        assert_eq!(code, Some(UNUSABLE), "{reported}: {printed}");
        assert!(printed.contains(reported), "{reported} is not in {printed}");
    }
}

#[test]
fn renamed_words_are_equal_only_with_their_option() {
    let change: Change = |run| edit_case(run, 1, "/variants/0/verdict", json!("agrees"));
    assert_eq!(compare(change, &[]).0, Some(DIFFERENT));
    assert_eq!(compare(change, &["--rename", "conforms=agrees"]).0, Some(EQUAL));
    assert_eq!(compare(change, &["--rename", "conform=agree"]).0, Some(DIFFERENT));
    assert_eq!(compare(change, &["--ignore", "variants[*].verdict"]).0, Some(EQUAL));
    assert_eq!(compare(change, &["--rename", "conforms"]).0, Some(UNUSABLE));
}

#[test]
fn reworded_sentences_must_keep_their_numbers() {
    let reworded: Change =
        |run| edit_finding(run, "/divergences/0/detail", json!("2 of 8 elements of output 0 differ"));
    assert_eq!(compare(reworded, &[]).0, Some(DIFFERENT));
    let (code, printed) = compare(reworded, &["--reworded"]);
    assert_eq!(code, Some(EQUAL));
    assert!(printed.contains("became \"# of # elements of output # differ\""), "{printed}");
    let other: Change =
        |run| edit_finding(run, "/divergences/0/detail", json!("3 of 8 elements of output 0 differ"));
    assert_eq!(compare(other, &["--reworded"]).0, Some(DIFFERENT));
    let identifier: Change = |run| edit_finding(run, "/divergences/0/documented", json!("other"));
    assert_eq!(compare(identifier, &["--reworded"]).0, Some(DIFFERENT));
}
