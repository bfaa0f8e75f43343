//! Benchmarks: each part is measured and printed; the numbers are not checked.

use crate::twinfer;

#[test]
fn backends_are_measured_alone_in_loop_and_in_campaign() {
    let outcome = twinfer(&[
        "bench",
        "--backends=golden,ort:cpu,opt=off",
        "--processes=1,2",
        "--jobs=1",
        "--cases=60",
        "--family=conv",
    ])
    .run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    let alone = |processes: &str| {
        lines.iter().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.starts_with(&[processes]) && words.ends_with(&["ort:cpu,opt=off"])
        })
    };
    assert!(lines[0] == "each backend alone" && alone("1") && alone("2"), "{}", outcome.stdout);
    let compared = |line: &&&str| line.trim_start().starts_with("executed and compared");
    assert_eq!(lines.iter().filter(compared).count(), 2, "{}", outcome.stdout);
    assert!(outcome.stdout.contains("60, "), "every case is in the loop: {}", outcome.stdout);
    assert!(outcome.stdout.contains("a campaign of 60 cases, jobs: 1"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("ratio to the loop"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("ratio to the best of one alone"), "{}", outcome.stdout);
    assert_eq!(costs(&outcome.stdout), parts("ort:cpu,opt=off"), "{}", outcome.stdout);
}

#[test]
fn default_benchmark_writes_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bench.json");
    let outcome = twinfer(&["bench", "--jobs=1", "--cases=60", "--json", file.to_str().unwrap()]).run();
    assert_eq!(outcome.code, Some(0), "{}", outcome.shown());
    assert_eq!(costs(&outcome.stdout), parts("ort:cpu"), "{}", outcome.stdout);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let names = report["costs"].as_array().unwrap().iter().map(|cost| cost["name"].as_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), parts("ort:cpu"));
    assert_eq!(report["campaign"]["cases"], 60);
    assert_eq!(report["alone"][0]["backend"], "ONNX Runtime");
}

/// The names of the printed costs of a case.
fn costs(stdout: &str) -> Vec<&str> {
    let lines = stdout.lines().skip_while(|line| !line.starts_with("time per case")).skip(2);
    lines.filter_map(|line| line.trim().split_once("  ")).map(|(name, _)| name).collect()
}

fn parts(variant: &str) -> Vec<String> {
    let of_variant = ["parse", "execute", "isolation, messages", "isolation, stages"]
        .map(|part| format!("{variant}: {part}"));
    let before = ["generate", "encode", "golden"].map(str::to_owned);
    let after = ["compare", "journal", "rest", "all together"].map(str::to_owned);
    before.into_iter().chain(of_variant).chain(after).collect()
}

#[test]
fn invalid_backend_option_is_wrong_usage() {
    for part in ["bare", "naive", "campaign"] {
        let outcome =
            twinfer(&["bench", "--backends=ort:cpu,opt=nonsense", "--cases=1", "--only", part]).run();
        assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
        let error = "error: ort:cpu,opt=nonsense: option opt=nonsense: use one of off, basic, all\n";
        assert_eq!(outcome.stderr, error);
    }
}

#[test]
fn processes_option_requires_backends() {
    let outcome = twinfer(&["bench", "--processes", "2"]).run();
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains("--backends"), "{}", outcome.stderr);
}

#[test]
fn golden_alone_is_no_benchmark() {
    let outcome = twinfer(&["bench", "--backends=golden", "--cases=1"]).run();
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.starts_with("error: no backend to compare with golden"), "{}", outcome.shown());
}
