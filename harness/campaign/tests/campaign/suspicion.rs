//! Workers that take much longer than others did are suspected to hang, which changes no verdict.

use std::time::{Duration, Instant};

use twinfer_case::{Event, Kind};

use crate::{
    actor::{
        role::{HANGING_CASE, Role},
        shared_folder,
    },
    setup::{Outcome, TestCampaign, against},
};

/// How many workers were lost on suspicion.
fn suspected(events: &[Event]) -> usize {
    let is_of_suspicion =
        |event: &&Event| matches!(event, Event::WorkerLost { reason, .. } if reason.contains("much longer"));
    events.iter().filter(is_of_suspicion).count()
}

fn suspecting(role: Role, cases: u64) -> TestCampaign {
    let mut campaign = against(role, cases);
    campaign.options.deadlines.suspicion = Duration::from_millis(300);
    (campaign.options.minimize, campaign.options.experiments) = (false, false);
    campaign
}

/// The worker hangs in a case that runs well in the next worker. It may be one of the workers that run segments, whose loss is no event.
#[test]
fn worker_that_hangs_once_is_replaced_long_before_its_deadline() {
    let mut campaign = suspecting(Role::HangsOnce, HANGING_CASE + 300);
    let deadline = Duration::from_mins(10);
    campaign.options.deadlines.execute = deadline;
    let begun = Instant::now();
    let outcome = campaign.run();
    assert!(begun.elapsed() < deadline);
    assert_eq!(outcome.journal().len() as u64, HANGING_CASE + 300);
    assert_eq!(outcome.kinds(), []);
    assert!(campaign.shared(shared_folder::HUNG).exists());
}

#[test]
fn suspicion_changes_no_verdict_and_no_finding() {
    let mut campaign = suspecting(Role::HangsRarely, 1500);
    campaign.options.deadlines.execute = Duration::from_secs(3);
    let suspecting = campaign.record(3, 3);
    campaign.options.deadlines.suspicion = Duration::MAX;
    campaign.record(1, 1).assert_same(&suspecting);
    assert!(!suspecting.findings.is_empty());
    assert!(suspecting.findings.iter().all(|finding| finding.kind == Kind::Hang));
}

#[test]
fn case_that_hangs_is_suspected_first() {
    let mut campaign = suspecting(Role::HangsRarely, 1500);
    campaign.options.deadlines.execute = Duration::from_secs(3);
    let outcome: Outcome = campaign.run();
    assert!(suspected(&outcome.events) > 0 && !outcome.kinds().is_empty());
}
