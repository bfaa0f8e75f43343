use std::{
    fs,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use twinfer_campaign::Campaign;
use twinfer_case::{Budget, CaseRecord, Event, Shard};
use twinfer_store::{RunDirectory, Start};

use crate::{
    actor::role::Role,
    setup::{against, is_full_tier},
};

#[test]
fn record_is_identical_for_one_and_two_jobs() {
    let mut campaign = against(Role::IgnoresBias, 150);
    let one = campaign.record(1, 1);
    assert_eq!(one.journal.len(), 150);
    assert!(!one.files.is_empty());
    campaign.record(2, 1).assert_same(&one);
}

#[test]
fn findings_are_identical_for_any_number_of_triage_workers() {
    let mut campaign = against(Role::HasManyBugs, 300);
    let one = campaign.record(1, 1);
    assert!(one.findings.len() > 15, "{} findings", one.findings.len());
    campaign.record(4, 5).assert_same(&one);
}

#[test]
fn two_shards_partition_the_cases_of_a_campaign() {
    let mut campaign = against(Role::Honest, 40);
    let whole = campaign.run().journal();
    campaign.options.budget = Budget::Cases(20);
    let mut shards = [0, 1].map(|shard| {
        campaign.options.shard = Shard::new(shard, 2).unwrap();
        campaign.run().journal().into_iter()
    });
    for (index, record) in whole.into_iter().enumerate() {
        assert_eq!(shards[index % 2].next(), Some(record));
    }
}

#[test]
fn stopped_campaign_records_what_it_has_run() {
    let mut campaign = against(Role::Honest, 200);
    let whole = campaign.run().journal();
    campaign.options.budget = Budget::Seconds(3600);
    campaign.out = campaign.shared("stopped");
    let directory = RunDirectory::create(&campaign.out).unwrap();
    let stop = Arc::clone(&campaign.options.stop);
    let mut finished = 0;
    let summary = Campaign::new(campaign.options.clone())
        .unwrap()
        .run(&directory, &mut |event| {
            finished += u64::from(matches!(event, Event::CaseFinished { .. }));
            stop.store(finished >= 10, Ordering::Relaxed);
        })
        .unwrap();
    let outcome = campaign.outcome(summary, Vec::new());
    let journal = outcome.journal();
    assert_eq!(journal.len() as u64, outcome.summary.cases);
    assert!(journal.len() >= 10);
    let same = |stopped: &&CaseRecord| whole.get(stopped.index as usize).is_none_or(|one| one == *stopped);
    assert_eq!(journal.iter().filter(same).count(), journal.len());
}

#[test]
fn killed_campaign_resumes_to_the_same_record() {
    let mut campaign = against(Role::IgnoresBias, 120);
    let whole = campaign.run();
    let (journal, files) = (whole.journal(), whole.finding_files());
    let mut random = 5_u64;
    let times = if is_full_tier() { 200 } else { 4 };
    for time in 0..times {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let cut = [1, 97].get(time).copied();
        let mut part = against(Role::IgnoresBias, 70);
        if time % 2 == 1 {
            // every case with a divergence is recorded as open first
            part.options.open_after = Duration::ZERO;
        }
        part.run();
        let bytes = fs::metadata(part.out.join("journal.jsonl")).unwrap().len();
        let cut = cut.unwrap_or((random >> 33) as usize % bytes as usize);
        part.cut_journal(cut);
        part.start = Start::Resumed;
        part.options.budget = Budget::Cases(120);
        let resumed = part.run();
        assert_eq!(resumed.summary.cases, 120);
        for (resumed, whole) in resumed.journal().iter().zip(&journal) {
            assert_eq!(resumed, whole, "cut by {cut} bytes");
        }
        assert!(resumed.finding_files() == files, "the files of the findings differ");
        assert_eq!(resumed.summary.findings, whole.summary.findings);
        assert_eq!(resumed.summary.new_findings, whole.summary.new_findings);
    }
    campaign.start = Start::Resumed;
    let complete = campaign.run();
    assert_eq!(complete.summary.cases, 120);
    assert_eq!(complete.summary.new_findings, whole.summary.new_findings);
    campaign.options.seed += 1;
    let error = campaign.try_run().err().expect("the seed differs");
    assert!(error.to_string().contains("seed: 3, now 4"), "{error}");
}

#[test]
fn campaign_without_the_decision_of_an_early_case_resumes_to_the_same_record() {
    let mut campaign = against(Role::IgnoresBias, 120);
    let whole = campaign.run();
    let (journal, files) = (whole.journal(), whole.finding_files());
    let first = journal.iter().find(|record| !record.findings.is_empty()).unwrap();
    let others =
        journal.iter().find(|record| record.findings.iter().any(|slug| !first.findings.contains(slug)));
    campaign.start = Start::Resumed;
    for lost in [first, others.unwrap()] {
        campaign.lose_record(lost.index);
        let resumed = campaign.run();
        assert_eq!(resumed.journal(), journal, "without case {}", lost.index);
        assert!(resumed.finding_files() == files, "the files of the findings differ");
        assert_eq!(resumed.summary.findings, whole.summary.findings);
    }
}
