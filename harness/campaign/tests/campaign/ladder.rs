//! Cases that escalate to the rungs above their variant.

use std::num::NonZeroUsize;

use twinfer_case::{Budget, CaseRecord, Event, Kind, Shard, TrustedVariant, VariantSummary, Verdict};
use twinfer_store::{Start, adopt, merge, read_finding};
use twinfer_targets::{Targets, reduce_options};
use twinfer_triage::is_same_bug;

use crate::{
    actor::role::Role,
    setup::{Outcome, TestCampaign, actor, against},
};

/// A campaign whose cases escalate to the two rungs of an actor's ladder.
fn escalating(role: Role, cases: u64, ladder: &str) -> TestCampaign {
    let mut campaign = against(role, cases);
    campaign.options.ladder = Some(ladder.parse().unwrap());
    campaign
}

/// The records of cases that escalated.
fn escalated(journal: &[CaseRecord]) -> impl Iterator<Item = &CaseRecord> {
    journal.iter().filter(|record| record.variants.len() > 1)
}

fn diverges(record: &CaseRecord, place: usize) -> bool {
    matches!(record.variants[place].verdict, Verdict::Diverges(_))
}

#[test]
fn bug_at_a_higher_level_is_found_there_and_minimized() {
    let campaign = escalating(Role::ErrsAtLevel2, 200, "1/4");
    let outcome = campaign.run();
    let journal = outcome.journal();
    let [base, first, second]: &[VariantSummary; 3] = outcome.summary.variants.as_slice().try_into().unwrap();
    assert_eq!(base.rung_of, None);
    assert!([first, second].iter().all(|rung| rung.rung_of.as_ref() == Some(&base.variant)));
    let count = escalated(&journal).count() as u64;
    assert!(count > 25 && count < 100, "{count} of 200 cases escalated");
    assert_eq!((base.cases(), first.cases(), second.cases()), (200, count, count));
    assert!(journal.iter().all(|record| matches!(record.variants.len(), 1 | 3)));
    assert!(first.divergences.is_empty() && base.divergences.is_empty());
    assert_eq!(second.first_seen, second.divergences);
    assert!(second.divergences[&Kind::WrongValues] > 0 && second.micros > 0);

    let findings = outcome.findings();
    let finding = findings.first().expect("the bug is found");
    assert_eq!(finding.seen_in.len(), 1);
    assert_eq!(finding.seen_in[0].variant, second.variant);
    assert_eq!(second.variant, format!("{},level=2", actor(Role::ErrsAtLevel2)).parse().unwrap());
    assert_eq!((finding.kind, finding.after.nodes), (Kind::WrongValues, 1), "{}", finding.graph);
    assert_eq!(finding.signature.backend, second.variant.backend);

    let folder = outcome.out.join("findings").join(finding.signature.slug());
    let (worker, deadlines) = (&campaign.options.worker, campaign.options.deadlines);
    let variant = TrustedVariant::vouch(second.variant.clone());
    let replays = Targets::start(&[variant], worker, deadlines).unwrap().replay(&folder).unwrap();
    assert!(replays.len() == 1 && replays[0].recurs, "{replays:?}");
}

#[test]
fn options_that_a_finding_does_not_need_are_left_out() {
    let campaign = escalating(Role::ErrsAtLevel2, 40, "1/1");
    let outcome = campaign.run();
    let folder = outcome.out.join("findings").join(outcome.findings()[0].signature.slug());
    let (worker, deadlines) = (&campaign.options.worker, campaign.options.deadlines);
    let start = |variant: &TrustedVariant| Targets::start(std::slice::from_ref(variant), worker, deadlines);
    let reduced = |options: &str| {
        let variant = format!("{},{options}", actor(Role::ErrsAtLevel2)).parse().unwrap();
        reduce_options(&folder, &TrustedVariant::vouch(variant), &["level", "refit", "vc"], &start).unwrap()
    };
    let finding = reduced("level=2,refit=on,vc=on").expect("it recurs");
    let needed = format!("{},level=2", actor(Role::ErrsAtLevel2)).parse().unwrap();
    assert_eq!(finding.fewest_options.as_ref(), Some(&needed));
    assert_eq!(read_finding(&folder).unwrap(), Some(finding), "the folder has it");
    assert_eq!(reduced("refit=on"), None, "the finding needs level 2");
}

/// A divergence that the base shows too is triaged at the base, where each candidate takes less time.
#[test]
fn divergence_seen_below_a_rung_is_not_triaged_on_it() {
    let mut campaign = escalating(Role::DropsBiasAndMore, 100, "1/1");
    // neighbors that show the other bug too would refute that the bias is dropped
    campaign.options.experiments = false;
    let outcome = campaign.run();
    let journal = outcome.journal();
    assert!(
        journal.iter().any(|record| !record.masks.is_empty() && (0..3).all(|rung| diverges(record, rung)))
    );
    let base = &outcome.summary.variants[0].variant;
    let mut investigated = outcome.events.iter().filter_map(|event| match event {
        Event::Investigated { variant, .. } => Some(variant),
        _ => None,
    });
    assert!(investigated.clone().count() > 2 && investigated.all(|variant| variant == base));
}

#[test]
fn escalated_cases_are_identical_for_one_and_six_jobs() {
    let mut campaign = escalating(Role::ErrsAtEveryLevel, 150, "1/5");
    let one = campaign.record(1, 1);
    let suspects = one.journal.iter().filter(|record| diverges(record, 0)).count();
    assert!(suspects > 0 && escalated(&one.journal).count() > suspects);
    assert!(escalated(&one.journal).any(|record| diverges(record, 2) && !diverges(record, 1)));
    assert_eq!(one.journal.len(), 150);
    campaign.record(6, 3).assert_same(&one);
}

#[test]
fn diverging_cases_escalate_unless_they_are_known() {
    let never = "1/1000000000000";
    let first = escalating(Role::ErrsAtEveryLevel, 80, never).run();
    let journal = first.journal();
    assert!(escalated(&journal).count() > 0);
    assert!(journal.iter().all(|record| (record.variants.len() > 1) == diverges(record, 0)));
    let golden_cases = tempfile::tempdir().unwrap();
    for finding in first.findings() {
        adopt(&first.out.join("findings").join(finding.signature.slug()), golden_cases.path()).unwrap();
    }
    let mut second = escalating(Role::ErrsAtEveryLevel, 80, never);
    second.options.known = vec![golden_cases.path().to_owned()];
    assert_eq!(escalated(&second.run().journal()).count(), 0);
}

#[test]
fn shards_escalate_the_same_cases_as_the_whole_campaign() {
    let mut campaign = escalating(Role::ErrsAtEveryLevel, 60, "1/6");
    (campaign.options.minimize, campaign.options.experiments) = (false, false);
    let whole = campaign.run();
    let (journal, findings) = (whole.journal(), whole.summary.findings.clone());
    let folder = tempfile::tempdir().unwrap();
    let runs = [0, 1].map(|shard| {
        campaign.options.shard = Shard::new(shard, 2).unwrap();
        campaign.options.budget = Budget::Cases(30);
        campaign.out = folder.path().join(format!("shard-{shard}"));
        campaign.run();
        campaign.out.clone()
    });
    let merged = folder.path().join("whole");
    assert_eq!(merge(&runs, &merged, &is_same_bug).unwrap(), [0; 0]);
    campaign.out = merged;
    let merged = campaign.outcome(whole.summary, Vec::new());
    let verdicts = |journal: Vec<CaseRecord>| {
        journal.into_iter().map(|record| (record.case, record.variants)).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(merged.journal()), verdicts(journal));
    assert!(!findings.is_empty());
    campaign.options.ladder = Some("1/7".parse().unwrap());
    campaign.options.shard = Shard::new(1, 2).unwrap();
    campaign.out = folder.path().join("other");
    campaign.run();
    let error =
        merge(&[runs[0].clone(), campaign.out], &folder.path().join("mixed"), &is_same_bug).unwrap_err();
    assert!(error.to_string().contains("ladder: "), "{error}");
}

#[test]
fn resumed_campaign_with_a_ladder_has_the_same_record() {
    let whole = escalating(Role::ErrsAtEveryLevel, 100, "1/5").run();
    let mut part = escalating(Role::ErrsAtEveryLevel, 60, "1/5");
    part.run();
    part.cut_journal(97);
    part.start = Start::Resumed;
    part.options.budget = Budget::Cases(100);
    let resumed = part.run();
    assert_eq!(resumed.journal(), whole.journal());
    assert!(resumed.finding_files() == whole.finding_files(), "the files of the findings differ");
    part.options.ladder = "1/6".parse().ok();
    let error = part.try_run().err().expect("the ladder differs");
    assert!(error.to_string().contains("ladder: 1/5, now 1/6"), "{error}");
}

#[test]
fn time_share_escalates_cases_without_changing_verdicts() {
    let campaign = escalating(Role::ErrsAtLevel2, 300, "40%");
    let outcome = campaign.run();
    let journal = outcome.journal();
    assert_eq!(journal.len(), 300);
    assert!(escalated(&journal).count() > 0);
    assert!(journal.iter().all(|record| matches!(record.variants.len(), 1 | 3)));
    // escalation does not change the bounds that golden judges by
    let mut without = against(Role::ErrsAtLevel2, 300);
    without.options.seed = campaign.options.seed;
    let bases = |outcome: &Outcome| {
        outcome.journal().into_iter().map(|record| record.variants[0].clone()).collect::<Vec<_>>()
    };
    assert_eq!(bases(&outcome), bases(&without.run()));
}

#[test]
fn exclusive_rungs_run_one_at_a_time_per_device() {
    let mut campaign = escalating(Role::NeedsExclusiveDeviceAtLevels, 60, "1/2");
    campaign.options.jobs = NonZeroUsize::new(8).unwrap();
    campaign.options.investigations = NonZeroUsize::new(3).unwrap();
    let outcome = campaign.run();
    // an actor that finds another worker on its device panics, which would be a crash
    assert!(!outcome.kinds().is_empty() && outcome.kinds().iter().all(|kind| *kind == Kind::WrongValues));
    assert_eq!(outcome.summary.workers_lost, 0);
}

#[test]
fn ladder_without_higher_levels_is_an_error() {
    let error = escalating(Role::Honest, 10, "10%").try_run().err().expect("there is no rung");
    assert!(error.to_string().contains("none of the backends has a higher optimization level"), "{error}");
}
