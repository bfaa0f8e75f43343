//! Campaigns whose supervisor is killed at random times and then resumed: the results equal those of an undisturbed campaign.
//!
//! Five kills by default; a hundred with `TWINFER_FULL=1 cargo test -p twinfer-tests --test end_to_end survival -- --nocapture`.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::Child,
    thread,
    time::{Duration, Instant},
};

use twinfer_tests::{Twinfer, no_findings};

use crate::{
    fuzz::{fuzz, journal},
    twinfer,
};

/// The options of a campaign whose two variants diverge on some cases, so that findings are written and later recorded for the
/// second variant.
const CAMPAIGN: [&str; 10] = [
    "--backends",
    "golden,ort:cpu,ort:cpu,opt=off",
    "--family",
    "deconv,invalid,qdq-conv",
    "--seed",
    "11",
    "--jobs",
    "2",
    "--cases",
    "400",
];

/// The longest time until workers notice that their supervisor is gone.
const ORPHANED: Duration = Duration::from_secs(20);
/// The longest time between the journal reaching its target length and the kill.
const LONGEST_DELAY: Duration = Duration::from_millis(200);
/// One kill in this many happens right after the start, whatever is recorded.
const EARLY: u64 = 8;

/// How a supervisor ended.
#[derive(PartialEq, Eq)]
enum End {
    /// It was killed.
    Killed,
    /// It finished before the kill.
    Done,
}

/// The state of a killed campaign: bytes of its journal and number of files of findings.
type State = (u64, usize);

#[test]
fn killed_supervisor_resumes_to_same_results() {
    let wanted = if env::var_os("TWINFER_FULL").is_some() { 100 } else { 5 };
    let undisturbed = tempfile::tempdir().unwrap();
    let outcome = fuzz(undisturbed.path(), &CAMPAIGN);
    assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
    let (journal_of, files_of) = (journal(undisturbed.path()), files(&undisturbed.path().join("findings")));
    let length = recorded(undisturbed.path());
    let (mut random, mut killed, mut campaigns) = (Random(7), 0, 0);
    let mut states: BTreeSet<(u32, State)> = BTreeSet::new();
    while killed < wanted {
        let disturbed = tempfile::tempdir().unwrap();
        campaigns += 1;
        while killed < wanted && run_and_kill(disturbed.path(), &mut random, length) == End::Killed {
            killed += 1;
            states.insert((campaigns, state(disturbed.path())));
        }
        let outcome = start_or_resume(disturbed.path()).run();
        assert_eq!(outcome.code, Some(1), "{}", outcome.shown());
        let same = journal(disturbed.path());
        assert_eq!(same.len(), journal_of.len());
        for (disturbed, undisturbed) in same.iter().zip(&journal_of) {
            assert_eq!(disturbed, undisturbed, "after {killed} kills");
        }
        let same = files(&disturbed.path().join("findings"));
        assert_eq!(same.keys().collect::<Vec<_>>(), files_of.keys().collect::<Vec<_>>());
        for (path, bytes) in &same {
            assert!(*bytes == files_of[path], "{} differs after {killed} kills", path.display());
        }
        assert_eq!(files(disturbed.path()).len(), files(undisturbed.path()).len(), "something else is left");
    }
    println!(
        "{killed} kills left {} states in {campaigns} campaigns of {} cases",
        states.len(),
        journal_of.len()
    );
    assert!(states.len() * 5 >= wanted * 4, "{wanted} kills left {} states only", states.len());
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % limit.max(1)
    }
}

/// Starts the campaign, or resumes it if a killed one left a folder.
fn start_or_resume(out: &Path) -> Twinfer {
    let begun = out.join("findings").is_dir();
    let out = ["fuzz", "--known", no_findings(), "--out", out.to_str().expect("a temporary path is UTF-8")];
    twinfer(&[&out[..], &CAMPAIGN, if begun { &["--resume"] } else { &[] }].concat())
}

/// Runs the campaign until its journal has grown by some of `length`, and kills the supervisor shortly after. Workers must exit on
/// their own.
fn run_and_kill(out: &Path, random: &mut Random, length: u64) -> End {
    let before = recorded(out);
    let mut supervisor = start_or_resume(out).start();
    if random.below(EARLY) > 0 {
        let target = before + 1 + random.below(length.saturating_sub(before) / 4);
        while recorded(out) < target && supervisor.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(2));
        }
    }
    thread::sleep(LONGEST_DELAY.mul_f64(random.below(1000) as f64 / 1000.0));
    let workers = children(&supervisor);
    supervisor.kill().unwrap();
    if let Some(code) = supervisor.wait().unwrap().code() {
        assert_eq!(code, 1, "the campaign failed");
        return End::Done;
    }
    let killed = Instant::now();
    while workers.iter().any(|worker| is_alive(worker)) {
        assert!(killed.elapsed() < ORPHANED, "a worker outlives its supervisor");
        thread::sleep(Duration::from_millis(5));
    }
    End::Killed
}

/// The size of the journal in bytes; 0 if there is none.
pub fn recorded(out: &Path) -> u64 {
    fs::metadata(out.join("journal.jsonl")).map_or(0, |journal| journal.len())
}

fn state(out: &Path) -> State {
    let findings = out.join("findings");
    (recorded(out), if findings.is_dir() { files(&findings).len() } else { 0 })
}

/// The process ids of the supervisor's children; empty if it has exited.
pub fn children(supervisor: &Child) -> Vec<String> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", supervisor.id())) else { return Vec::new() };
    tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok())
        .flat_map(|children| children.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Whether a process exists and is not a zombie.
fn is_alive(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

/// The contents of every file under `folder`, by relative path.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                files.insert(path.strip_prefix(folder).unwrap().to_owned(), bytes);
            }
        }
    }
    files
}
