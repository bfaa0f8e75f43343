//! Campaigns on a failing machine: a clear error, exit code 3, and a run that resumes to the same results.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;
use twinfer_prerequisites::skip;
use twinfer_tests::{Outcome, no_findings};

use crate::{
    fuzz::{fuzz, journal},
    survival::{children, files, recorded},
    twinfer,
};

/// The options of a short campaign with findings.
const CAMPAIGN: [&str; 11] = [
    "--backends",
    "golden,ort:cpu",
    "--family",
    "deconv,invalid",
    "--seed",
    "11",
    "--jobs",
    "2",
    "--no-minimize",
    "--cases",
    "1200",
];

/// The results of a campaign: its journal and the files of its findings.
type Results = (Vec<Value>, BTreeMap<PathBuf, Vec<u8>>);

/// The results of an undisturbed campaign.
static UNDISTURBED: LazyLock<Results> = LazyLock::new(|| undisturbed(&CAMPAIGN));

/// A mounted file system of limited size.
struct Disk(TempDir);

impl Disk {
    /// Mounts a file system of `size`, such as `160k`; `None` if mounting is not permitted.
    fn of(size: &str) -> Option<Self> {
        let disk = Self(tempfile::tempdir().unwrap());
        let is_mounted = disk.mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]);
        if !is_mounted {
            eprintln!("skipped: no file system can be mounted here");
        }
        is_mounted.then_some(disk)
    }

    fn remount(&self, option: &str) {
        assert!(self.mount(&["-o", &format!("remount,{option}")]), "a mounted file system takes {option}");
    }

    fn mount(&self, arguments: &[&str]) -> bool {
        Command::new("mount")
            .args(arguments)
            .arg(self.0.path())
            .output()
            .is_ok_and(|done| done.status.success())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

/// Asserts that the campaign in `out` failed for `reason`, kept its cases, and printed how to resume.
fn assert_failed_resumably(failed: &Outcome, reason: &str, out: &Path) {
    assert_environment_failure(failed, reason);
    assert!(
        failed.stderr.contains("resume with: ") && failed.stderr.contains("--resume"),
        "{}",
        failed.stderr
    );
    assert!(recorded(out) > 0, "nothing was recorded");
}

fn assert_environment_failure(failed: &Outcome, reason: &str) {
    assert_eq!(failed.code, Some(3), "{}", failed.shown());
    let errors: Vec<_> = failed.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(matches!(errors.as_slice(), [error] if error.contains(reason)), "{}", failed.stderr);
}

fn results(out: &Path) -> Results {
    (journal(out), files(&out.join("findings")))
}

fn undisturbed(campaign: &[&str]) -> Results {
    let out = tempfile::tempdir().unwrap();
    fuzz(out.path(), campaign);
    results(out.path())
}

fn assert_resumes_to(undisturbed: &Results, out: &Path, campaign: &[&str]) {
    let resumed = fuzz(out, &[campaign, &["--resume"]].concat());
    assert_eq!(resumed.code, Some(1), "{}", resumed.shown());
    let (journal, files) = results(out);
    assert!(journal == undisturbed.0, "the journals differ");
    assert_same_files(&files, &undisturbed.1);
}

/// Asserts that both folders hold the same files, and otherwise shows the first one that differs.
fn assert_same_files(found: &BTreeMap<PathBuf, Vec<u8>>, expected: &BTreeMap<PathBuf, Vec<u8>>) {
    for path in found.keys().chain(expected.keys()) {
        let text = |files: &BTreeMap<PathBuf, Vec<u8>>| {
            files.get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        assert_eq!(text(found), text(expected), "{}", path.display());
    }
}

#[test]
fn campaign_that_fails_to_start_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let runs = || folder.path().join("runs").read_dir().unwrap().count();
    let fuzz = |backend: &str| {
        twinfer(&["fuzz", "--backends", backend, "--known", no_findings(), "--cases", "1"])
            .within(folder.path())
            .run()
    };
    let outcome = fuzz("golden,external:/no/such/program");
    assert_eq!((outcome.code, runs()), (Some(3), 0), "{}", outcome.shown());
    let outcome = fuzz("golden,ort:cpu");
    assert_eq!((outcome.code, runs()), (Some(0), 1), "{}", outcome.shown());
}

#[test]
fn full_disk_ends_campaign_that_can_be_resumed() {
    let Some(disk) = Disk::of("160k") else { return };
    let out = disk.path().join("run");
    let full = fuzz(&out, &CAMPAIGN);
    assert_failed_resumably(&full, "No space left on device", &out);
    let still_full = fuzz(&out, &[&CAMPAIGN[..], &["--resume"]].concat());
    assert_environment_failure(&still_full, "No space left on device");
    disk.remount("size=16m");
    assert_resumes_to(&UNDISTURBED, &out, &CAMPAIGN);
}

#[test]
fn unwritable_folder_is_environment_failure() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert_environment_failure(&fuzz(&file.path().join("run"), &CAMPAIGN), "cannot write");
    assert_environment_failure(&fuzz(Path::new("/proc/twinfer"), &CAMPAIGN), "cannot write /proc/twinfer");
    let Some(disk) = Disk::of("16m") else { return };
    let out = disk.path().join("run");
    fuzz(&out, &[&CAMPAIGN[..9], &["--cases", "40"]].concat());
    disk.remount("ro");
    assert_environment_failure(&fuzz(&disk.path().join("other"), &CAMPAIGN), "Read-only file system");
    assert_environment_failure(
        &fuzz(&out, &[&CAMPAIGN[..], &["--resume"]].concat()),
        "Read-only file system",
    );
    disk.remount("rw");
    assert_resumes_to(&UNDISTURBED, &out, &CAMPAIGN);
}

/// The campaign with a copy of ONNX Runtime in `folder`; `None` if ONNX Runtime is not installed.
fn with_library_in(folder: &Path) -> Option<(PathBuf, Vec<String>)> {
    let library = twinfer_libraries::Store::open().and_then(|store| store.find("onnxruntime")).ok()?;
    let copy = folder.join("libonnxruntime.so");
    fs::copy(library.library(), &copy).unwrap();
    let mut campaign = CAMPAIGN.map(str::to_owned).to_vec();
    let lib = copy.display();
    campaign[1] = format!("golden,ort:cpu,lib={lib}");
    Some((copy, campaign))
}

#[test]
fn removed_library_ends_campaign_that_can_be_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let Some((library, campaign)) = with_library_in(folder.path()) else {
        skip("onnxruntime", "ONNX Runtime is not installed");
        return;
    };
    let campaign: Vec<_> = campaign.iter().map(String::as_str).collect();
    let (out, away) = (folder.path().join("run"), folder.path().join("away"));
    let supervisor = start_and_wait(&out, &campaign);
    fs::rename(&library, &away).unwrap();
    // twice, because spare workers have already loaded the library
    for _ in 0..2 {
        kill("KILL", &children(&supervisor));
        thread::sleep(Duration::from_millis(200));
    }
    let failed = Outcome::of(supervisor.wait_with_output().unwrap());
    assert_failed_resumably(&failed, &format!("cannot load {}", library.display()), &out);
    let still_gone = fuzz(&out, &[&campaign[..], &["--resume"]].concat());
    assert_environment_failure(&still_gone, &format!("cannot load {}", library.display()));
    fs::rename(&away, &library).unwrap();
    assert_resumes_to(&undisturbed(&campaign), &out, &campaign);
}

/// Starts the campaign and waits until it has recorded a case.
fn start_and_wait(out: &Path, campaign: &[&str]) -> Child {
    let path = out.to_str().unwrap();
    let arguments = [&["fuzz", "--out", path, "--known", no_findings()], campaign].concat();
    let mut supervisor = twinfer(&arguments).start_with_output();
    let started = Instant::now();
    while recorded(out) == 0 {
        assert!(supervisor.try_wait().unwrap().is_none(), "the campaign is over");
        assert!(started.elapsed() < Duration::from_mins(1), "nothing is recorded");
        thread::sleep(Duration::from_millis(2));
    }
    supervisor
}

fn kill(signal: &str, processes: &[String]) {
    Command::new("kill").args(["-s", signal]).args(processes).output().unwrap();
}

/// Runs the shell command that an interrupted campaign printed for resuming.
fn run_printed_resume(interrupted: &Outcome) -> Outcome {
    let command = interrupted.stderr.lines().find_map(|line| line.split_once("resume with: "));
    let (_, command) = command.unwrap_or_else(|| panic!("{}", interrupted.stderr));
    Outcome::of(Command::new("sh").args(["-c", command]).env("NO_COLOR", "1").output().unwrap())
}

#[test]
fn interrupt_finishes_running_cases_and_prints_resume() {
    for signal in ["INT", "TERM"] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a run");
        let supervisor = start_and_wait(&out, &CAMPAIGN);
        kill(signal, &[supervisor.id().to_string()]);
        let interrupted = Outcome::of(supervisor.wait_with_output().unwrap());
        assert_eq!(interrupted.code, Some(5), "{}", interrupted.shown());
        assert!(
            interrupted.stderr.contains("stopping: what is running gets up to ten seconds"),
            "{}",
            interrupted.stderr
        );
        let cases = journal(&out).len();
        assert!(
            interrupted.stdout.contains(&format!("\n{cases} cases in"))
                && interrupted.stdout.contains("\nended early: interrupted"),
            "{}",
            interrupted.stdout
        );
        let reported = twinfer(&["report", out.to_str().unwrap()]).run();
        assert_eq!(reported.code, Some(0), "{}", reported.shown());
        assert!(reported.stdout.contains("\nended early: interrupted; resume with: twinfer fuzz --out "));
        assert_eq!(run_printed_resume(&interrupted).code, Some(1));
        assert_resumes_to(&UNDISTURBED, &out, &CAMPAIGN);
        let complete = twinfer(&["report", out.to_str().unwrap()]).run();
        assert!(!complete.stdout.contains("ended early"), "{}", complete.stdout);
    }
}

#[test]
fn second_interrupt_stops_at_once_without_losing_cases() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let supervisor = start_and_wait(&out, &CAMPAIGN);
    for _ in 0..2 {
        kill("INT", &[supervisor.id().to_string()]);
        thread::sleep(Duration::from_millis(50));
    }
    let interrupted = Outcome::of(supervisor.wait_with_output().unwrap());
    assert_eq!(interrupted.code, Some(5), "{}", interrupted.shown());
    assert_eq!(run_printed_resume(&interrupted).code, Some(1));
    assert_resumes_to(&UNDISTURBED, &out, &CAMPAIGN);
}

#[test]
fn run_directory_is_not_overwritten() {
    let out = tempfile::tempdir().unwrap();
    let campaign = ["--backends", "ort:cpu", "--family", "conv", "--cases", "4"];
    assert_eq!(fuzz(out.path(), &campaign).code, Some(0));
    let before = files(out.path());
    let again = fuzz(out.path(), &campaign);
    assert_eq!(again.code, Some(2), "{}", again.shown());
    assert!(
        again.stderr.contains("already holds a run: give another --out or remove the folder"),
        "{}",
        again.stderr
    );
    assert!(files(out.path()) == before, "the run has changed");
}
