//! No process that a worker starts outlives the worker.

use std::{
    fs,
    path::Path,
    process, thread,
    time::{Duration, Instant},
};

use crate::{
    actor::role::Role,
    setup::{TestCampaign, against},
};

/// The environment variable that all processes of a campaign inherit.
const MARK: &str = "TWINFER_TEST_MARK";
/// How long the last processes may take to end after their campaign.
const ENDING: Duration = Duration::from_secs(20);

/// Scans without a process that show that none is left: a scan can miss processes that end quickly.
const SCANS: usize = 30;

/// Runs a campaign whose processes are marked, and checks that it leaves none of them.
fn assert_nothing_is_left(role: Role) {
    let mut campaign = marked(role);
    campaign.options.minimize = false;
    campaign.options.deadlines.execute = Duration::from_millis(400);
    let outcome = campaign.run();
    assert_eq!(outcome.journal().len(), 6);
    assert!(!outcome.kinds().is_empty(), "no worker was lost");
    let begun = Instant::now();
    while let Some(process) = (0..SCANS).find_map(|_| any_process_of(&mark(role))) {
        assert!(begun.elapsed() < ENDING, "{process} is left");
        thread::sleep(Duration::from_millis(10));
    }
}

fn mark(role: Role) -> String {
    format!("{role}-{}", process::id())
}

fn marked(role: Role) -> TestCampaign {
    let mut campaign = against(role, 6);
    campaign.options.worker.env.push((MARK.to_owned(), mark(role)));
    campaign
}

/// The command line of a process whose environment holds the mark.
fn any_process_of(mark: &str) -> Option<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let mut marked = processes.filter(|process| has_mark(process, mark));
    marked.find_map(|process| fs::read_to_string(process.join("cmdline")).ok())
}

fn has_mark(process: &Path, mark: &str) -> bool {
    let entry = format!("{MARK}={mark}");
    fs::read(process.join("environ"))
        .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|one| one == entry.as_bytes()))
}

#[test]
fn orphan_of_a_crashed_worker_is_killed() {
    assert_nothing_is_left(Role::LeavesOrphan);
}

#[test]
fn orphan_of_a_hung_worker_is_killed() {
    assert_nothing_is_left(Role::HangsWithOrphan);
}

#[test]
fn chain_of_daemons_is_killed() {
    assert_nothing_is_left(Role::StartsDaemons);
}
