//! Nothing is green that was not compared: the exit codes 4 and 5, and what the reports say with them.

use std::{
    fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;
use twinfer_onnx::{DataType, Dim, Graph, Node, Op, ValueInfo};
use twinfer_tests::{Outcome, golden, no_findings};

use crate::{
    fuzz::fuzz,
    opaque::{check, model, unchanged},
    twinfer,
};

const NOTHING: &str = "nothing was compared";

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A campaign of ONNX Runtime without optimizations, which conforms.
fn campaign(arguments: &[&str]) -> TempDir {
    let out = tempfile::tempdir().unwrap();
    let campaign = ["--backends", "ort:cpu,opt=off", "--family", "conv", "--seed", "4"];
    let outcome = fuzz(out.path(), &[&campaign[..], arguments].concat());
    assert!(matches!(outcome.code, Some(0 | 4)), "{}", outcome.shown());
    out
}

fn merge(shards: &[TempDir]) -> (Outcome, TempDir) {
    let out = tempfile::tempdir().unwrap();
    let run = out.path().join("run");
    let paths: Vec<_> = shards.iter().map(|shard| text(shard.path())).collect();
    let outcome = twinfer(&[&["merge"], &paths[..], &["--out", text(&run)]].concat()).run();
    (outcome, out)
}

/// Removes from the run in `out` how it ended, as if its process had been killed.
fn forget_end(out: &Path) {
    let path = out.join("run.json");
    let mut run: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(run["end"], "complete");
    run.as_object_mut().unwrap().remove("end");
    fs::write(path, run.to_string()).unwrap();
}

/// One backend executes the model and the other only builds it, as without a GPU.
#[test]
fn backend_that_alone_executes_is_uncompared_in_every_format() {
    let folder = model("Tanh");
    let backends = format!("ort:cpu,{} build", unchanged());
    for format in ["terminal", "json", "junit", "markdown", "html"] {
        let outcome = check(&folder, &["--backends", &backends, "--cases", "2", "--format", format]);
        assert_eq!(outcome.code, Some(4), "{format}: {}", outcome.shown());
        let page = outcome.stdout.to_lowercase();
        assert!(page.contains("built, not executed"), "{format}: {page}");
        assert!(page.contains("2 cases without a reference") || format == "json", "{format}: {page}");
        assert!(page.contains(NOTHING) || format == "json", "{format}: {page}");
        assert!(!page.contains("no new findings"), "{format}: {page}");
    }
    let json = check(&folder, &["--backends", &backends, "--format", "json"]).stdout;
    let report: Value = serde_json::from_str(&json).unwrap();
    let [executes, builds] = report["summary"]["variants"].as_array().unwrap().as_slice() else {
        panic!("{json}")
    };
    assert_eq!((&executes["compared"], &builds["compared"]), (&0.into(), &8.into()), "{json}");
    assert_eq!(executes["uncompared"][0]["outcome"], "ok");
}

#[test]
fn report_of_uncompared_run_says_so_and_exits_with_0() {
    let (folder, out) = (model("Nope"), tempfile::tempdir().unwrap());
    let run = out.path().join("run");
    let backends = "ort:cpu,opt=off,ort:cpu,opt=all";
    assert_eq!(check(&folder, &["--backends", backends, "--out", text(&run)]).code, Some(4));
    let report = twinfer(&["report", text(&run)]).run();
    assert_eq!(report.code, Some(0), "{}", report.shown());
    assert!(report.stdout.contains(NOTHING) && report.stdout.contains("rejected in"), "{}", report.stdout);
    let journal = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    assert!(journal.contains(r#""outcome":{"rejected":"#), "{journal}");
}

#[test]
fn runs_without_cases_compared_nothing() {
    let none = campaign(&["--cases", "0"]);
    let outcome = twinfer(&["report", text(none.path())]).run();
    assert!(outcome.stdout.contains("ort:cpu,opt=off: no case ran"), "{}", outcome.shown());
    let (merged, _out) = merge(&["0/2", "1/2"].map(|shard| campaign(&["--cases", "0", "--shard", shard])));
    assert_eq!(merged.code, Some(4), "{}", merged.shown());
    assert!(merged.stdout.contains(NOTHING), "{}", merged.shown());
    let some = campaign(&["--cases", "2"]);
    for (earlier, later) in [(&none, &some), (&some, &none), (&none, &none)] {
        let diff = twinfer(&["diff", text(earlier.path()), text(later.path())]).run();
        assert_eq!(diff.code, Some(4), "{}", diff.shown());
        assert!(diff.stdout.contains("no case is in both runs"), "{}", diff.shown());
        assert!(!diff.stdout.contains("same findings"), "{}", diff.shown());
    }
}

#[test]
fn golden_alone_is_wrong_usage() {
    let (folder, out) = (model("Tanh"), tempfile::tempdir().unwrap());
    assert_eq!(check(&folder, &["--backends", "golden"]).code, Some(2));
    assert_eq!(fuzz(out.path(), &["--backends", "golden", "--cases", "1"]).code, Some(2));
}

#[test]
fn survey_without_observations_compared_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let name = "rtx-4178-bf16-depthwise";
    let case = folder.path().join("case");
    fs::create_dir(&case).unwrap();
    let topic = golden().join("catalogue").join(name).join("topic.json");
    fs::copy(&topic, case.join("topic.json")).unwrap();
    let recorded = twinfer(&["check", text(&case), "--recorded"]).run();
    assert_eq!(recorded.code, Some(4), "{}", recorded.shown());
    assert!(recorded.stdout.contains("no observation is stored"), "{}", recorded.shown());
    let topics = twinfer(&["check", text(folder.path()), "--backends", "ort:cpu"]).run();
    assert_eq!(topics.code, Some(4), "{}", topics.shown());
    assert!(topics.stdout.contains("no case has a graph"), "{}", topics.shown());
}

#[test]
fn minimizing_an_uncompared_model_exits_with_4() {
    let value = |name: &str| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(vec![Dim::Fixed(5)]),
    };
    let relu = Node {
        name: "node".to_owned(),
        op: Op::Relu,
        inputs: vec!["x".to_owned()],
        outputs: vec!["y".to_owned()],
    };
    let graph = Graph {
        opset: 999,
        inputs: vec![value("x")],
        initializers: Vec::new(),
        nodes: vec![relu],
        outputs: vec![value("y")],
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    fs::write(&path, graph.encode()).unwrap();
    let minimize = ["minimize", text(&path), "--backends", "ort:cpu", "--out", text(folder.path())];
    let outcome = twinfer(&minimize).run();
    assert_eq!(outcome.code, Some(4), "{}", outcome.shown());
    assert!(
        outcome.stdout.contains(NOTHING) && outcome.stdout.contains("rejected in"),
        "{}",
        outcome.shown()
    );
}

#[test]
fn report_of_killed_run_says_how_to_resume() {
    let run = campaign(&["--cases", "4"]);
    forget_end(run.path());
    for format in ["terminal", "json", "junit", "markdown", "html"] {
        let report = twinfer(&["report", text(run.path()), "--format", format]).run();
        assert_eq!(report.code, Some(0), "{}", report.shown());
        let page = report.stdout.to_lowercase();
        assert!(page.contains("unfinished") || format == "json", "{format}: {page}");
        assert!(page.contains("twinfer fuzz --out "), "{format}: {page}");
    }
    let report = twinfer(&["report", text(run.path())]).run();
    let command = report.stdout.lines().find_map(|line| line.split_once("resume with: ")).unwrap().1;
    assert_eq!(command, format!("twinfer fuzz --out {} --resume", text(run.path())));
}

#[test]
fn merged_run_of_incomplete_shards_ended_early() {
    let shards = ["0/3", "1/3"].map(|shard| campaign(&["--cases", "2", "--shard", shard]));
    forget_end(shards[1].path());
    let (outcome, out) = merge(&shards);
    assert_eq!(outcome.code, Some(5), "{}", outcome.shown());
    let early = "incomplete: shard 2 is missing; shard 1 is unfinished\n";
    assert!(outcome.stdout.contains(early), "{}", outcome.shown());
    let report = twinfer(&["report", text(&out.path().join("run"))]).run();
    assert!(report.stdout.contains(early), "a merged run cannot be resumed: {}", report.shown());
}

#[test]
fn interrupted_check_reports_what_has_run() {
    let (unsupported, supported) = (model("Tanh"), tempfile::tempdir().unwrap());
    let drawn = ["generate", "--family", "conv", "--cases", "1", "--seed", "3", "--out"];
    twinfer(&[&drawn[..], &[text(&supported.path().join("cases"))]].concat()).run();
    for (path, backends) in [
        (unsupported.path().join("model.onnx"), "ort:cpu,opt=off,ort:cpu,opt=all"),
        (supported.path().join("cases/conv-3-0/model.onnx"), "golden,ort:cpu"),
    ] {
        let out = tempfile::tempdir().unwrap();
        let run = out.path().join("run");
        let arguments =
            ["check", text(&path), "--backends", backends, "--cases", "20000", "--out", text(&run)];
        let checking = twinfer(&arguments).start_with_output();
        let started = Instant::now();
        while !run.join("run.json").exists() {
            assert!(started.elapsed() < Duration::from_mins(1), "the run does not begin");
            thread::sleep(Duration::from_millis(5));
        }
        Command::new("kill").args(["-s", "INT", &checking.id().to_string()]).status().unwrap();
        let outcome = Outcome::of(checking.wait_with_output().unwrap());
        assert_eq!(outcome.code, Some(5), "{}", outcome.shown());
        let report = twinfer(&["report", text(&run)]).run();
        for shown in [&outcome.stdout, &report.stdout] {
            assert!(shown.contains("ended early: interrupted"), "{shown}");
        }
    }
}

/// A folder with a model that returns its input.
fn identity() -> TempDir {
    let value = |name: &str| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(vec![Dim::Fixed(5)]),
    };
    let node = Node {
        name: "node".to_owned(),
        op: Op::Identity,
        inputs: vec!["x".to_owned()],
        outputs: vec!["y".to_owned()],
    };
    let (inputs, outputs) = (vec![value("x")], vec![value("y")]);
    let identity = Graph { opset: 17, inputs, initializers: Vec::new(), nodes: vec![node], outputs };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("model.onnx"), identity.encode()).unwrap();
    folder
}

/// The cases of lost workers run to the end in others, so that there is no finding.
#[test]
fn backend_that_ends_now_and_then_is_not_green() {
    let folder = identity();
    let model = folder.path().join("model.onnx");
    for (mode, code) in [("execute", 0), ("dying", 3)] {
        let backends = format!("golden,{} {mode}", unchanged());
        let outcome = twinfer(&["check", text(&model), "--backends", &backends]).run();
        assert_eq!(outcome.code, Some(code), "{mode}: {}", outcome.shown());
        let says_so = outcome.stderr.contains("died, but not when the case ran again");
        assert_eq!(says_so, code == 3, "{mode}: {}", outcome.shown());
    }
}

#[test]
fn known_crash_is_green() {
    let folder = identity();
    let path = |name: &str| folder.path().join(name);
    let backends = format!("golden,{} aborting", unchanged());
    let check = |known: &Path, out: &Path| {
        let (model, known, out) = (path("model.onnx"), text(known), text(out));
        twinfer(&["check", text(&model), "--backends", &backends, "--known", known, "--out", out]).run()
    };
    let first = check(Path::new(no_findings()), &path("first"));
    assert_eq!(first.code, Some(1), "{}", first.shown());
    assert!(first.stdout.contains("crash"), "{}", first.shown());
    let again = check(&path("first"), &path("again"));
    assert_eq!(again.code, Some(0), "{}", again.shown());
}
