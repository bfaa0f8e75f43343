use std::{
    fs,
    num::NonZeroUsize,
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use twinfer_campaign::Campaign;
use twinfer_case::{Event, Kind};

use crate::setup::against;

/// Kills a random worker now and then; how many it got.
pub fn killed_workers() {
    let full = std::env::var_os("TWINFER_FULL").is_some();
    let (cases, wanted) = if full { (60_000, 200) } else { (800, 30) };
    let production = against("ignores-bias:killed", cases);
    let undisturbed = production.run();
    let (journal, files) = (undisturbed.journal(), undisturbed.finding_files());
    let (over, killed) = (AtomicBool::new(false), AtomicUsize::new(0));
    let disturbed = thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = 7_u64;
            while !over.load(Ordering::Relaxed) && killed.load(Ordering::Relaxed) < wanted {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                thread::sleep(Duration::from_millis(80 + (random >> 58)));
                killed.fetch_add(usize::from(kill_one((random >> 33) as usize)), Ordering::Relaxed);
            }
        });
        let disturbed = production.run();
        over.store(true, Ordering::Relaxed);
        disturbed
    });
    let killed = killed.load(Ordering::Relaxed);
    println!("killed {killed} workers, {} of them lost at work", disturbed.summary.workers_lost);
    assert!(disturbed.summary.workers_lost > 0, "no worker was killed at work");
    assert!(!full || killed == wanted, "the campaign was over after {killed} kills");
    assert_eq!(disturbed.journal(), journal);
    assert!(disturbed.finding_files() == files, "the files of the findings differ");
}

pub fn injected_faults() {
    let full = std::env::var_os("TWINFER_FULL").is_some();
    let cases = if full { 20_000 } else { 2000 };
    let mut production = against("ignores-bias:sabotaged", cases);
    // a hang costs its deadline, in which other lanes go on
    production.options.deadlines.execute = Duration::from_secs(1);
    production.options.jobs = NonZeroUsize::new(6).unwrap();
    let undisturbed = production.run();
    let (journal, files) = (undisturbed.journal(), undisturbed.finding_files());
    production.options.worker.env.push((twinfer_worker::FAULT_INJECTION_VARIABLE.to_owned(), "7".to_owned()));
    let disturbed = production.run();
    let lost = disturbed.summary.workers_lost;
    println!("{lost} workers were lost at work in {cases} cases");
    assert!(lost >= cases / 25, "{lost} workers were lost");
    for (disturbed, undisturbed) in disturbed.journal().iter().zip(&journal) {
        assert_eq!(disturbed, undisturbed);
    }
    assert_eq!(disturbed.summary.cases, cases);
    assert!(disturbed.finding_files() == files, "the files of the findings differ");
}

/// Kills one of this test's workers: other tests run at the same time.
fn kill_one(random: usize) -> bool {
    let is_ours = |child: &i32| {
        fs::read(format!("/proc/{child}/cmdline")).is_ok_and(|line| line.ends_with(b":killed\0"))
    };
    let children: Vec<_> = children().into_iter().filter(is_ours).collect();
    let Some(child) = children.get(random % children.len().max(1)) else { return false };
    Pid::from_raw(*child).is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
}

fn children() -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{}/task", process::id())).unwrap();
    tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok())
        .flat_map(|children| {
            children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

pub fn crash() {
    let outcome = against("aborts", 60).run();
    assert_eq!(outcome.journal().len(), 60);
    assert!(outcome.kinds().contains(&Kind::Crash));
    assert!(outcome.kinds().iter().all(|kind| *kind == Kind::Crash));
    let finding = &outcome.findings()[0];
    assert_eq!(finding.signature.error.as_deref(), Some("signal 6"));
    assert_eq!(
        finding.divergences[0].detail,
        "the worker died of signal 6 in execute: assertion failed: no bias"
    );
    assert_eq!(finding.after.nodes, 1, "{}", finding.graph);
}

pub fn hang() {
    let mut production = against("hangs", 6);
    production.options.deadlines.execute = Duration::from_millis(400);
    let outcome = production.run();
    assert_eq!(outcome.journal().len(), 6);
    assert!(outcome.kinds().contains(&Kind::Hang));
    assert!(outcome.kinds().iter().all(|kind| *kind == Kind::Hang));
    let tried = outcome.events.iter().filter_map(|event| match event {
        Event::Minimizing { tried, .. } => Some(*tried),
        _ => None,
    });
    assert!(tried.max().is_some_and(|most| most <= 8), "a candidate that hangs takes its deadline");
}

/// The worker hangs for ten minutes, which its stage allows.
pub fn stopped_in_a_hang() {
    let mut production = against("hangs", 60);
    production.options.deadlines.execute = Duration::from_hours(1);
    let (begun, stop) = (Instant::now(), Arc::clone(&production.options.stop));
    let campaign = Campaign::new(production.options.clone()).unwrap();
    let summary = campaign.run(&mut |_| {
        stop.store(begun.elapsed() > Duration::from_secs(1), Ordering::Relaxed);
    });
    assert!(summary.unwrap().cases < 60, "nothing hung");
    assert!(begun.elapsed() < Duration::from_mins(5), "the hang was waited for");
}

pub fn garbled_pipe() {
    let outcome = against("garbles", 30).run();
    assert_eq!(outcome.journal().len(), 30);
    assert!(outcome.kinds().contains(&Kind::Crash));
    assert_eq!(outcome.findings()[0].signature.error.as_deref(), Some("garbled pipe"));
}

pub fn stage_without_end() {
    let outcome = against("never-comes-to-an-end", 12).run();
    assert_eq!(outcome.journal().len(), 12);
    assert!(outcome.kinds().contains(&Kind::Crash));
    assert_eq!(outcome.findings()[0].signature.error.as_deref(), Some("garbled pipe"));
}

pub fn lost_context() {
    let mut production = against("loses-its-context", 80);
    let outcome = production.run();
    let losses = outcome.summary.workers_lost;
    assert!(losses > 5, "{losses} workers were lost");
    // a later case in the same worker would fail too, whatever it is
    assert!(outcome.findings().iter().all(|finding| has_third_input(&finding.graph)));
    let journal = outcome.journal();
    production.options.jobs = NonZeroUsize::MIN;
    assert_eq!(production.run().journal(), journal);
}

pub fn outgrown() {
    let mut production = against("keeps-everything", 3300);
    production.options.jobs = NonZeroUsize::MIN;
    let outcome = production.run();
    let growths: Vec<_> = outcome
        .events
        .iter()
        .filter_map(|event| match event {
            Event::WorkerOutgrown { growth, .. } => Some(*growth),
            _ => None,
        })
        .collect();
    assert_eq!(growths.len(), 1, "{growths:?}");
    assert!(growths[0].to > 2 * growths[0].from, "{growths:?}");
    assert_eq!((outcome.summary.workers_lost, outcome.summary.cases), (0, 3300));
    assert!(outcome.findings().is_empty(), "what comes before does not matter");
}

pub fn device_alone() {
    let mut production = against("wants-its-device-alone", 100);
    let other = crate::actor::command("wants-its-device-alone:other").parse().unwrap();
    production.options.variants.push(other);
    let four = NonZeroUsize::new(4).unwrap();
    (production.options.jobs, production.options.investigations) = (four, four);
    let outcome = production.run();
    let started = outcome.events.iter().filter(|event| matches!(event, Event::WorkerStarted { .. }));
    assert_eq!(started.count(), 2, "one of each variant");
    assert_eq!(outcome.summary.workers_lost, 0, "a worker that is not alone panics");
    assert!(outcome.findings().iter().any(|finding| finding.kind == Kind::WrongValues));
}

fn has_third_input(graph: &str) -> bool {
    graph.contains(" B1:") || graph.ends_with(" -")
}

pub fn no_worker() {
    let error = against("does-not-start", 5).try_run().err().expect("no worker starts");
    assert!(error.to_string().ends_with("the library is missing"), "{error}");
    let error = crate::setup::against_variant("external:/no/such/program", 5).try_run().err().unwrap();
    assert!(error.to_string().contains("cannot start \"/no/such/program\""), "{error}");
}

pub fn harness_fault() {
    let production = against("faults", 60);
    let error = production.try_run().err().expect("the worker gives up");
    assert!(error.to_string().ends_with("out of disk"), "{error}");
}
