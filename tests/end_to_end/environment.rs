//! What a campaign does where its machine fails it: a clear error, exit code 3, and a run that goes on as if nothing had been.

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
use twinfer_tests::{Outcome, no_findings};

use crate::{
    fuzz::{fuzz, journal},
    survival::{children, files, recorded},
    twinfer,
};

/// A short one that finds something.
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
    "300",
];

/// What the campaign leaves: its journal and the files of its findings.
type Record = (Vec<Value>, BTreeMap<PathBuf, Vec<u8>>);

static UNDISTURBED: LazyLock<Record> = LazyLock::new(|| undisturbed(&CAMPAIGN));

/// A file system of its own.
struct Disk(TempDir);

impl Disk {
    /// One of so many bytes; none where mounting is not allowed.
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

/// The campaign in `out` has failed through no fault of a backend; mended, it goes on to what it would have come to.
fn failed_for(failed: &Outcome, reason: &str, out: &Path) {
    told_of(failed, reason);
    assert!(failed.stderr.contains("go on: ") && failed.stderr.contains("--resume"), "{}", failed.stderr);
    assert!(recorded(out) > 0, "nothing was recorded");
}

fn told_of(failed: &Outcome, reason: &str) {
    assert_eq!(failed.code, Some(3), "{}", failed.shown());
    let errors: Vec<_> = failed.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(matches!(errors.as_slice(), [error] if error.contains(reason)), "{}", failed.stderr);
}

fn record(out: &Path) -> Record {
    (journal(out), files(&out.join("findings")))
}

fn undisturbed(campaign: &[&str]) -> Record {
    let out = tempfile::tempdir().unwrap();
    fuzz(out.path(), campaign);
    record(out.path())
}

fn resumes_to(undisturbed: &Record, out: &Path, campaign: &[&str]) {
    let resumed = fuzz(out, &[campaign, &["--resume"]].concat());
    assert_eq!(resumed.code, Some(1), "{}", resumed.shown());
    let (journal, files) = record(out);
    assert!(journal == undisturbed.0, "the journals differ");
    assert!(files == undisturbed.1, "the findings differ");
}

#[test]
fn a_campaign_that_does_not_begin_leaves_no_folder() {
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
fn a_full_disk_ends_a_campaign_that_goes_on_once_there_is_room() {
    let Some(disk) = Disk::of("160k") else { return };
    let out = disk.path().join("run");
    let full = fuzz(&out, &CAMPAIGN);
    failed_for(&full, "No space left on device", &out);
    let still_full = fuzz(&out, &[&CAMPAIGN[..], &["--resume"]].concat());
    told_of(&still_full, "No space left on device");
    disk.remount("size=16m");
    resumes_to(&UNDISTURBED, &out, &CAMPAIGN);
}

#[test]
fn a_folder_that_cannot_be_written_is_the_environments_fault() {
    let file = tempfile::NamedTempFile::new().unwrap();
    told_of(&fuzz(&file.path().join("run"), &CAMPAIGN), "cannot write");
    told_of(&fuzz(Path::new("/proc/twinfer"), &CAMPAIGN), "cannot write /proc/twinfer");
    let Some(disk) = Disk::of("16m") else { return };
    let out = disk.path().join("run");
    fuzz(&out, &[&CAMPAIGN[..9], &["--cases", "40"]].concat());
    disk.remount("ro");
    told_of(&fuzz(&disk.path().join("other"), &CAMPAIGN), "Read-only file system");
    told_of(&fuzz(&out, &[&CAMPAIGN[..], &["--resume"]].concat()), "Read-only file system");
    disk.remount("rw");
    resumes_to(&UNDISTURBED, &out, &CAMPAIGN);
}

/// The campaign, with a library of ONNX Runtime that can be removed; none where there is none.
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
fn a_library_that_is_removed_ends_a_campaign_that_goes_on_once_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let Some((library, campaign)) = with_library_in(folder.path()) else {
        eprintln!("skipped: ONNX Runtime is not installed");
        return;
    };
    let campaign: Vec<_> = campaign.iter().map(String::as_str).collect();
    let (out, away) = (folder.path().join("run"), folder.path().join("away"));
    let supervisor = begun(&out, &campaign);
    fs::rename(&library, &away).unwrap();
    // those that stand by have the library loaded
    for _ in 0..2 {
        kill("KILL", &children(&supervisor));
        thread::sleep(Duration::from_millis(200));
    }
    let failed = Outcome::of(supervisor.wait_with_output().unwrap());
    failed_for(&failed, &format!("cannot load {}", library.display()), &out);
    let still_gone = fuzz(&out, &[&campaign[..], &["--resume"]].concat());
    told_of(&still_gone, &format!("cannot load {}", library.display()));
    fs::rename(&away, &library).unwrap();
    resumes_to(&undisturbed(&campaign), &out, &campaign);
}

/// A campaign that has recorded something.
fn begun(out: &Path, campaign: &[&str]) -> Child {
    let path = out.to_str().unwrap();
    let arguments = [&["fuzz", "--out", path, "--known", no_findings()], campaign].concat();
    let mut supervisor = twinfer(&arguments).start_heard();
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

/// Runs what the command told its user to run.
fn run_as_told(interrupted: &Outcome) -> Outcome {
    let told = interrupted.stderr.lines().find_map(|line| line.split_once("to go on: "));
    let (_, command) = told.unwrap_or_else(|| panic!("{}", interrupted.stderr));
    Outcome::of(Command::new("sh").args(["-c", command]).env("NO_COLOR", "1").output().unwrap())
}

#[test]
fn an_interrupt_finishes_the_cases_in_flight_reports_and_says_how_to_go_on() {
    for signal in ["INT", "TERM"] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a run");
        let supervisor = begun(&out, &CAMPAIGN);
        kill(signal, &[supervisor.id().to_string()]);
        let interrupted = Outcome::of(supervisor.wait_with_output().unwrap());
        assert!(matches!(interrupted.code, Some(0 | 1)), "{}", interrupted.shown());
        assert!(
            interrupted.stderr.contains("stopping after the cases that are under way"),
            "{}",
            interrupted.stderr
        );
        let cases = journal(&out).len();
        assert!(interrupted.stdout.contains(&format!("\n{cases} cases in")), "{}", interrupted.stdout);
        assert_eq!(run_as_told(&interrupted).code, Some(1));
        resumes_to(&UNDISTURBED, &out, &CAMPAIGN);
    }
}

#[test]
fn a_second_interrupt_ends_a_campaign_at_once_and_loses_nothing_that_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let supervisor = begun(&out, &CAMPAIGN);
    for _ in 0..2 {
        kill("INT", &[supervisor.id().to_string()]);
        thread::sleep(Duration::from_millis(50));
    }
    let interrupted = Outcome::of(supervisor.wait_with_output().unwrap());
    // it may have been done with the cases in flight
    assert!(matches!(interrupted.code, Some(0 | 1 | 130)), "{}", interrupted.shown());
    assert_eq!(run_as_told(&interrupted).code, Some(1));
    resumes_to(&UNDISTURBED, &out, &CAMPAIGN);
}

#[test]
fn a_run_is_not_overwritten_by_another() {
    let out = tempfile::tempdir().unwrap();
    let campaign = ["--backends", "ort:cpu", "--family", "conv", "--cases", "4"];
    assert_eq!(fuzz(out.path(), &campaign).code, Some(0));
    let before = files(out.path());
    let again = fuzz(out.path(), &campaign);
    assert_eq!(again.code, Some(2), "{}", again.shown());
    assert!(again.stderr.contains("holds a run: go on with it by --resume"), "{}", again.stderr);
    assert!(files(out.path()) == before, "the run has changed");
}
