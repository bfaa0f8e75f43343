use std::{
    fs,
    sync::{Arc, atomic::Ordering},
};

use twinfer_campaign::Campaign;
use twinfer_case::{Budget, Event};

use crate::setup::against;

pub fn one_job_and_two_jobs() {
    let mut production = against("ignores-bias", 150);
    let one = production.record(1, 1);
    assert_eq!(one.journal.len(), 150);
    assert!(!one.files.is_empty());
    production.record(2, 1).assert_same(&one);
}

pub fn many_findings() {
    let mut production = against("has-many-bugs", 300);
    let one = production.record(1, 1);
    assert!(one.findings.len() > 15, "{} findings", one.findings.len());
    production.record(4, 5).assert_same(&one);
}

pub fn two_shards() {
    let mut production = against("honest", 40);
    let whole = production.run().journal();
    production.options.budget = Budget::Cases(20);
    let mut shards = [0, 1].map(|shard| {
        production.options.shard = (shard, 2);
        production.run().journal().into_iter()
    });
    for (index, record) in whole.into_iter().enumerate() {
        assert_eq!(shards[index % 2].next(), Some(record));
    }
}

pub fn stopped() {
    let mut production = against("honest", 200);
    let whole = production.run().journal();
    production.options.budget = Budget::Seconds(3600);
    let stop = Arc::clone(&production.options.stop);
    let mut finished = 0;
    let campaign = Campaign::new(production.options.clone()).unwrap();
    let summary = campaign
        .run(&mut |event| {
            finished += u64::from(matches!(event, Event::CaseFinished { .. }));
            stop.store(finished >= 10, Ordering::Relaxed);
        })
        .unwrap();
    let outcome = production.outcome(summary, Vec::new());
    let journal = outcome.journal();
    assert_eq!(journal.len() as u64, outcome.summary.cases);
    assert!(journal.len() >= 10);
    assert!(journal.iter().zip(&whole).all(|(stopped, whole)| stopped == whole));
}

pub fn resumed() {
    let mut production = against("ignores-bias", 120);
    let whole = production.run();
    let (journal, files) = (whole.journal(), whole.finding_files());
    let mut random = 5_u64;
    let times = if std::env::var_os("TWINFER_FULL").is_some() { 200 } else { 4 };
    for time in 0..times {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let cut = [1, 97].get(time).copied();
        let mut part = against("ignores-bias", 70);
        part.run();
        // what a campaign leaves that is killed while it writes
        let path = part.options.out.join("journal.jsonl");
        let bytes = fs::read(&path).unwrap();
        let cut = cut.unwrap_or((random >> 33) as usize % bytes.len());
        fs::write(&path, &bytes[..bytes.len() - cut]).unwrap();
        part.options.resume = true;
        part.options.budget = Budget::Cases(120);
        let resumed = part.run();
        assert_eq!(resumed.summary.cases, 120);
        assert_eq!(resumed.journal(), journal, "cut by {cut} bytes");
        assert!(resumed.finding_files() == files, "the files of the findings differ");
        assert_eq!(resumed.summary.findings, whole.summary.findings);
        assert_eq!(resumed.summary.new_findings, whole.summary.new_findings);
    }
    production.options.resume = true;
    let complete = production.run();
    assert_eq!(complete.summary.cases, 120);
    assert_eq!(complete.summary.new_findings, whole.summary.new_findings);
    production.options.seed += 1;
    let error = production.try_run().err().expect("the seed is another");
    assert!(error.to_string().contains("give the same options"), "{error}");
}
