//! Benchmarks of named backends; what they measure is nobody's business here, that they measure it is.

use crate::twinfer;

#[test]
fn backends_are_measured_alone_in_one_loop_and_in_a_campaign() {
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
            words.starts_with(&[processes, "on"]) && words.ends_with(&["ort:cpu,opt=off"])
        })
    };
    assert!(lines[0] == "each backend alone" && alone("1") && alone("2"), "{}", outcome.stdout);
    let compared = |line: &&&str| line.trim_start().starts_with("executed and compared");
    assert_eq!(lines.iter().filter(compared).count(), 2, "{}", outcome.stdout);
    assert!(outcome.stdout.contains("60, "), "every case is in the loop: {}", outcome.stdout);
    assert!(outcome.stdout.contains("a campaign of 60 cases, 1 jobs"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("ratio to the loop"), "{}", outcome.stdout);
}

#[test]
fn options_of_a_benchmark_of_backends_need_backends() {
    let outcome = twinfer(&["bench", "--processes", "2"]).run();
    assert_eq!(outcome.code, Some(2), "{}", outcome.shown());
    assert!(outcome.stderr.contains("--backends"), "{}", outcome.stderr);
}
