use std::{
    fs, mem,
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, getpid, kill_process};
use twinfer_campaign::Campaign;
use twinfer_case::{Event, Kind, TrustedVariant};
use twinfer_keeper::ProcessTable;
use twinfer_store::RunDirectory;

use crate::{
    actor::role::Role,
    setup::{actor, against, against_variant, is_full_tier},
};

/// The label of the workers that a test kills.
const VICTIM: &str = "victim";

/// Kills all workers when the first case is done, so that the executors lose theirs at work, and a random worker now and then.
#[test]
fn killed_workers_change_no_verdict_and_lose_no_case() {
    let full = is_full_tier();
    let (cases, wanted) = if full { (60_000, 200) } else { (800, 30) };
    let campaign = against_variant(&format!("{} {VICTIM}", actor(Role::IgnoresBias)), cases);
    let undisturbed = campaign.run();
    let (journal, files) = (undisturbed.journal(), undisturbed.finding_files());
    let (over, killed) = (AtomicBool::new(false), AtomicUsize::new(0));
    let disturbed = thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = 7_u64;
            while !over.load(Ordering::Relaxed) && killed.load(Ordering::Relaxed) < wanted {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                thread::sleep(Duration::from_millis(80 + (random >> 58)));
                let workers = victims();
                let worker = workers.get((random >> 33) as usize % workers.len().max(1));
                killed.fetch_add(usize::from(worker.is_some_and(|worker| kill(*worker))), Ordering::Relaxed);
            }
        });
        let mut is_first = true;
        let disturbed = campaign.try_run_watched(&mut |event| {
            if matches!(event, Event::CaseFinished { .. }) && mem::take(&mut is_first) {
                killed.fetch_add(
                    victims().into_iter().filter(|worker| kill(*worker)).count(),
                    Ordering::Relaxed,
                );
            }
        });
        over.store(true, Ordering::Relaxed);
        disturbed.unwrap()
    });
    let killed = killed.load(Ordering::Relaxed);
    println!("killed {killed} workers, {} of them lost at work", disturbed.summary.workers_lost);
    assert!(disturbed.summary.workers_lost > 0, "no worker was killed at work");
    assert!(!full || killed >= wanted, "the campaign was over after {killed} kills");
    assert_eq!(disturbed.journal(), journal);
    assert!(disturbed.finding_files() == files, "the files of the findings differ");
}

#[test]
fn injected_faults_change_no_verdict_and_no_finding() {
    let full = is_full_tier();
    let cases = if full { 20_000 } else { 1000 };
    let mut campaign = against(Role::IgnoresBias, cases);
    // a hang costs its deadline, during which other executors continue; there are dozens
    campaign.options.deadlines.execute = Duration::from_millis(500);
    campaign.options.jobs = NonZeroUsize::new(6).unwrap();
    let undisturbed = campaign.run();
    let (journal, files) = (undisturbed.journal(), undisturbed.finding_files());
    campaign.options.worker.env.push((twinfer_worker::FAULT_INJECTION_VARIABLE.to_owned(), "7".to_owned()));
    let disturbed = campaign.run();
    let lost = disturbed.summary.workers_lost;
    println!("{lost} workers were lost at work in {cases} cases");
    assert!(lost >= cases / 25, "{lost} workers were lost");
    for (disturbed, undisturbed) in disturbed.journal().iter().zip(&journal) {
        assert_eq!(disturbed, undisturbed);
    }
    assert_eq!(disturbed.summary.cases, cases);
    assert!(disturbed.finding_files() == files, "the files of the findings differ");
}

/// The workers of the test that kills its own, which their label tells from those of tests that run at the same time.
fn victims() -> Vec<Pid> {
    let is_ours = |pid: &Pid| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.strip_suffix(b"\0").is_some_and(|line| line.ends_with(VICTIM.as_bytes())))
    };
    ProcessTable::read().descendants(getpid()).into_iter().filter(is_ours).collect()
}

fn kill(worker: Pid) -> bool {
    kill_process(worker, Signal::KILL).is_ok()
}

#[test]
fn crash_becomes_a_finding_and_the_campaign_continues() {
    let outcome = against(Role::Aborts, 60).run();
    assert_eq!(outcome.journal().len(), 60);
    assert!(outcome.kinds().contains(&Kind::Crash));
    assert!(outcome.kinds().iter().all(|kind| *kind == Kind::Crash));
    let finding = &outcome.findings()[0];
    assert_eq!(finding.signature.error.as_deref(), Some("signal 6"));
    assert_eq!(
        finding.divergences[0].detail,
        "the worker ended with signal 6 in execute: assertion failed: no bias"
    );
    assert_eq!(finding.after.nodes, 1, "{}", finding.graph);
}

#[test]
fn hang_becomes_a_finding_and_the_campaign_continues() {
    let mut campaign = against(Role::Hangs, 6);
    campaign.options.deadlines.execute = Duration::from_millis(400);
    let outcome = campaign.run();
    assert_eq!(outcome.journal().len(), 6);
    assert!(outcome.kinds().contains(&Kind::Hang));
    assert!(outcome.kinds().iter().all(|kind| *kind == Kind::Hang));
    let tried = outcome.events.iter().filter_map(|event| match event {
        Event::Minimizing { tried, .. } => Some(*tried),
        _ => None,
    });
    assert!(tried.max().is_some_and(|most| most <= 8), "minimizing a hang tried too many candidates");
}

/// The worker hangs for ten minutes, within the deadline of its stage.
#[test]
fn stopped_campaign_does_not_wait_for_a_hang() {
    let mut campaign = against(Role::Hangs, 60);
    campaign.options.deadlines.execute = Duration::from_hours(1);
    let (begun, stop) = (Instant::now(), Arc::clone(&campaign.options.stop));
    let directory = RunDirectory::create(&campaign.out).unwrap();
    let summary = Campaign::new(campaign.options.clone()).unwrap().run(&directory, &mut |_| {
        stop.store(begun.elapsed() > Duration::from_secs(1), Ordering::Relaxed);
    });
    assert!(summary.unwrap().cases < 60, "nothing hung");
    assert!(begun.elapsed() < Duration::from_mins(5), "the campaign waited for the hang");
}

#[test]
fn garbled_pipe_is_a_crash_and_the_campaign_continues() {
    let outcome = against(Role::GarblesPipe, 30).run();
    assert_eq!(outcome.journal().len(), 30);
    assert!(outcome.kinds().contains(&Kind::Crash));
    assert_eq!(outcome.findings()[0].signature.error.as_deref(), Some("garbled pipe"));
}

#[test]
fn endlessly_repeated_stage_message_ends_the_worker() {
    let outcome = against(Role::RepeatsStage, 12).run();
    assert_eq!(outcome.journal().len(), 12);
    assert!(outcome.kinds().contains(&Kind::Crash));
    assert_eq!(outcome.findings()[0].signature.error.as_deref(), Some("garbled pipe"));
}

#[test]
fn lost_context_costs_its_worker_but_no_other_case() {
    let mut campaign = against(Role::LosesContext, 80);
    let outcome = campaign.run();
    let losses = outcome.summary.workers_lost;
    assert!(losses > 5, "{losses} workers were lost");
    // a later case in the same worker would fail too, with or without a bias
    assert!(outcome.findings().iter().all(|finding| has_third_input(&finding.graph)));
    let journal = outcome.journal();
    campaign.options.jobs = NonZeroUsize::MIN;
    assert_eq!(campaign.run().journal(), journal);
}

#[test]
fn leaking_worker_is_replaced_without_any_other_effect() {
    let mut campaign = against(Role::Leaks, 3300);
    campaign.options.jobs = NonZeroUsize::MIN;
    let outcome = campaign.run();
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
    assert!(outcome.findings().is_empty(), "a leak is no divergence");
}

#[test]
fn exclusive_workers_run_one_at_a_time_per_device() {
    let mut campaign = against(Role::NeedsExclusiveDevice, 100);
    let other = format!("{} other", actor(Role::NeedsExclusiveDevice)).parse().unwrap();
    campaign.options.variants.push(TrustedVariant::vouch(other));
    let four = NonZeroUsize::new(4).unwrap();
    (campaign.options.jobs, campaign.options.investigations) = (four, four);
    campaign.options.experiments = false;
    let outcome = campaign.run();
    let started = outcome.events.iter().filter(|event| matches!(event, Event::WorkerStarted { .. }));
    assert_eq!(started.count(), 2, "one of each variant");
    assert_eq!(outcome.summary.workers_lost, 0, "a worker panics if another one uses the device");
    assert!(outcome.findings().iter().any(|finding| finding.kind == Kind::WrongValues));
}

fn has_third_input(graph: &str) -> bool {
    graph.contains(" B1:") || graph.ends_with(" -")
}

#[test]
fn worker_that_does_not_start_is_an_error_with_its_reason() {
    let error = against(Role::DoesNotStart, 5).try_run().err().expect("no worker can start");
    assert!(error.to_string().ends_with("the library is missing"), "{error}");
    let error = against_variant("external:/no/such/program", 5).try_run().err().unwrap();
    assert!(error.to_string().contains("cannot start \"/no/such/program\""), "{error}");
}

#[test]
fn worker_fault_fails_the_campaign_without_a_verdict() {
    let campaign = against(Role::ReportsFault, 60);
    let error = campaign.try_run().err().expect("the worker reports a fault");
    assert!(error.to_string().ends_with("out of disk"), "{error}");
}
