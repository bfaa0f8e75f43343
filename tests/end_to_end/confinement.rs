//! Workers that are hostile to their machine: nothing of them is left, and limits hold.

use std::{
    fs,
    path::Path,
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use twinfer_prerequisites::has_python_with;
use twinfer_tests::{Outcome, Twinfer, no_findings};

use crate::twinfer;

/// The environment variable that all processes of a command inherit.
const MARK: &str = "TWINFER_TEST_MARK";
/// The file that a daemon of a worker creates.
const STARTED: &str = "daemon-started";
/// How long something may take that takes a second on an idle machine.
const PATIENCE: Duration = Duration::from_mins(1);
/// Scans without a process that show that none is left: a scan can miss processes that end quickly.
const SCANS: usize = 20;

/// A campaign against a hostile worker, and the folder of all temporary files.
struct Hostile {
    command: Twinfer,
    folder: TempDir,
    mark: String,
}

impl Hostile {
    /// A campaign of two cases; `None` without Python.
    fn campaign(hostility: &str, options: &[&str]) -> Option<Self> {
        if !has_python_with("sys") {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("end_to_end/adapters/hostile.py");
        let backends = format!("golden,external:python3 {} {hostility}", script.display());
        let (out, temporary) = (folder.path().join("run"), folder.path().join("tmp"));
        fs::create_dir(&temporary).unwrap();
        let mark = format!("{hostility}-{}", folder.path().display());
        let fixed =
            ["fuzz", "--known", no_findings(), "--family", "conv", "--cases", "2", "--no-minimize", "--all"];
        let given = ["--jobs", "1", "--backends", &backends, "--out", out.to_str().unwrap()];
        let command = twinfer(&[&fixed[..], &given, options].concat());
        let started = folder.path().join(STARTED);
        let command = command
            .variable(MARK, &mark)
            .variable("TMPDIR", temporary.to_str().unwrap())
            .variable("DAEMON_STARTED", started.to_str().unwrap());
        Some(Self { command, folder, mark })
    }

    /// Starts the campaign and waits until its worker has left a daemon.
    fn start(self) -> (Child, TempDir, String) {
        let supervisor = self.command.start();
        let begun = Instant::now();
        while !self.folder.path().join(STARTED).exists() {
            assert!(begun.elapsed() < PATIENCE, "no daemon started");
            thread::sleep(Duration::from_millis(20));
        }
        (supervisor, self.folder, self.mark)
    }

    /// Runs the campaign, and checks that nothing is left of it.
    fn run(self) -> Outcome {
        let outcome = self.command.run();
        assert_nothing_is_left(&self.folder, &self.mark);
        outcome
    }
}

/// The command lines of the processes whose environment holds the mark.
fn marked(mark: &str) -> Vec<String> {
    let entry = format!("{MARK}={mark}");
    let has_mark = |process: &Path| {
        fs::read(process.join("environ"))
            .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|one| one == entry.as_bytes()))
    };
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let lines =
        processes.filter(|process| has_mark(process)).map(|process| fs::read(process.join("cmdline")));
    lines.flatten().map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).collect()
}

fn assert_nothing_is_left(folder: &TempDir, mark: &str) {
    let temporary = folder.path().join("tmp");
    let begun = Instant::now();
    loop {
        let processes: Vec<_> = (0..SCANS).flat_map(|_| marked(mark)).collect();
        let files = fs::read_dir(&temporary).unwrap().count();
        if processes.is_empty() && files == 0 {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{files} files and these processes are left: {processes:?}");
    }
}

fn interrupt(supervisor: &Child) {
    Command::new("kill").args(["-s", "INT", &supervisor.id().to_string()]).output().unwrap();
}

#[test]
fn killed_supervisor_leaves_no_process() {
    let Some(hostile) = Hostile::campaign("survive", &[]) else { return };
    let (mut supervisor, folder, mark) = hostile.start();
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    assert_nothing_is_left(&folder, &mark);
}

#[test]
fn second_interrupt_leaves_no_process() {
    let Some(hostile) = Hostile::campaign("survive", &[]) else { return };
    let (mut supervisor, folder, mark) = hostile.start();
    interrupt(&supervisor);
    thread::sleep(Duration::from_millis(500));
    interrupt(&supervisor);
    supervisor.wait().unwrap();
    assert_nothing_is_left(&folder, &mark);
}

/// Checks that each case is a crash with this error, because a fresh worker repeats it.
fn assert_crash(hostility: &str, options: &[&str], reason: &str) {
    let Some(hostile) = Hostile::campaign(hostility, options) else { return };
    let outcome = hostile.run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(outcome.stdout.contains(reason), "{}", outcome.shown());
}

#[test]
fn worker_over_its_memory_limit_is_ended() {
    let reason = "the worker uses more than 256 MiB of memory, its limit (--worker-memory)";
    assert_crash("memory", &["--worker-memory", "256MiB"], reason);
}

#[test]
fn worker_over_its_process_limit_is_ended() {
    let reason = "the worker is more than 20 processes, its limit (--worker-processes)";
    assert_crash("processes", &["--worker-processes", "20"], reason);
}

#[test]
fn worker_over_its_disk_limit_is_ended() {
    let reason = "the worker uses more than 20 MiB of disk, its limit (--worker-disk)";
    assert_crash("disk", &["--worker-disk", "20MiB"], reason);
}

#[test]
fn oversized_answer_ends_the_worker() {
    assert_crash("answer", &[], "garbled pipe");
}

/// By default, two runs in a stage of 30 s each would pass before the verdict.
#[test]
fn case_that_passes_the_deadline_that_is_given_hangs() {
    let Some(hostile) = Hostile::campaign("hang", &["--deadline", "load=1s"]) else { return };
    let begun = Instant::now();
    let outcome = hostile.run();
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    assert!(outcome.stdout.contains("hang"), "{}", outcome.shown());
    assert!(begun.elapsed() < PATIENCE, "the default deadline applies");
}

#[test]
fn worker_that_passes_the_deadline_of_its_start_is_environment_failure() {
    let Some(hostile) = Hostile::campaign("hang-at-start", &["--deadline", "start=1s"]) else { return };
    let outcome = hostile.run();
    assert_eq!(outcome.code, Some(3), "{}", outcome.shown());
    let reason = "did not start within 1 s; --deadline start=TIME sets the limit";
    assert!(outcome.stderr.contains(reason), "{}", outcome.shown());
}

/// The worker needs 150 MiB before its first case, so the limit is to blame and not the case.
#[test]
fn limit_that_the_start_half_fills_is_environment_failure() {
    let Some(hostile) = Hostile::campaign("memory-at-start", &["--worker-memory", "200MiB"]) else { return };
    let outcome = hostile.run();
    assert_eq!(outcome.code, Some(3), "{}", outcome.shown());
    assert!(outcome.stderr.contains("its limit (--worker-memory)"), "{}", outcome.shown());
}
