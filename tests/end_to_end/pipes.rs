//! Pipes in place of files: each is refused, and none is waited for.

use std::{fs, path::Path, process::Command, sync::mpsc, thread, time::Duration};

use twinfer_tests::Outcome;

use crate::{fuzz::fuzz, twinfer};

/// Far longer than a command takes that does not wait for the other end of a pipe.
const DEADLINE: Duration = Duration::from_mins(2);

fn put_pipe(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Runs a command that must end by itself.
fn ended(arguments: &[&str]) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    let command = twinfer(arguments);
    thread::spawn(move || sender.send(command.run()));
    receiver.recv_timeout(DEADLINE).unwrap_or_else(|_| panic!("{arguments:?} waits for a pipe"))
}

#[test]
fn pipes_in_a_run_directory_are_refused() {
    let out = tempfile::tempdir().unwrap();
    let campaign = ["--backends", "ort:cpu", "--family", "invalid", "--seed", "20", "--no-minimize"];
    fuzz(out.path(), &[&campaign[..], &["--cases", "20"]].concat());
    let run = out.path().to_str().unwrap();
    let merged = out.path().join("merged");
    let finding = fs::read_dir(out.path().join("findings")).unwrap().map(|entry| entry.unwrap().path());
    let finding = finding.filter(|path| path.is_dir()).min().expect("a finding");
    let folder = finding.to_str().unwrap();
    let commands: [&[&str]; 6] = [
        &["report", run],
        &["diff", run, run],
        &["merge", run, "--out", merged.to_str().unwrap()],
        &["fuzz", "--resume", "--out", run],
        &["replay", folder],
        &["adopt", folder, "--to", merged.to_str().unwrap()],
    ];
    let files = ["run.json", "journal.jsonl", "revisited.jsonl"].map(|name| out.path().join(name));
    let files =
        files.into_iter().chain(["finding.json", "case.json", "model.onnx"].map(|name| finding.join(name)));
    for file in files.chain([finding.with_extension("observed.json")]) {
        let whole = fs::read(&file).ok();
        put_pipe(&file);
        let outcomes = commands.map(ended);
        // a finding that is no file is none, and is made again
        let is_needed = file.parent() == Some(out.path());
        assert!(!is_needed || outcomes[0].code == Some(2), "{}: {}", file.display(), outcomes[0].shown());
        fs::remove_file(&file).unwrap();
        if let Some(whole) = whole {
            fs::write(&file, whole).unwrap();
        }
        let _ = fs::remove_dir_all(&merged);
    }
}

#[test]
fn pipes_and_broken_links_in_place_of_the_configuration_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = folder.path().join("twinfer.toml");
    let fuzz =
        || twinfer(&["fuzz", "--backends", "golden,ort:cpu", "--cases", "1"]).within(folder.path()).run();
    put_pipe(&configuration);
    let pipe = fuzz();
    fs::remove_file(&configuration).unwrap();
    std::os::unix::fs::symlink("absent", &configuration).unwrap();
    for refused in [pipe, fuzz()] {
        assert_eq!(refused.code, Some(2), "{}", refused.shown());
        assert!(refused.stderr.contains("cannot read twinfer.toml"), "{}", refused.shown());
    }
}

#[test]
fn pipes_in_place_of_inputs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("model.onnx");
    put_pipe(&pipe);
    let pipe = pipe.to_str().unwrap();
    for arguments in [
        &["check", pipe, "--backends", "golden"][..],
        &["minimize", pipe],
        &["fuzz", "--config", pipe, "--cases", "1"],
        &["report", pipe],
    ] {
        let outcome = ended(arguments);
        assert_eq!(outcome.code, Some(2), "{arguments:?}: {}", outcome.shown());
    }
}

#[test]
fn report_is_on_disk_although_nobody_reads_the_output() {
    let out = tempfile::tempdir().unwrap();
    let run = out.path().to_str().unwrap();
    let arguments = ["fuzz", "--backends", "ort:cpu", "--family", "conv", "--cases", "3", "--out", run];
    let mut child = twinfer(&arguments).start_with_output();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert!(out.path().join("report.html").is_file());
}
