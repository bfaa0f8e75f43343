//! Cases that predictably hang are left out, but for a sample.

use std::time::Duration;

use twinfer_case::{CaseRecord, Outcome, Verdict};
use twinfer_store::Start;

use crate::{
    actor::role::Role,
    setup::{TestCampaign, against},
};

/// How many cases a block has.
const BLOCK: u64 = 256;
/// One in this many cases that are predicted to hang runs all the same.
const SAMPLE: u64 = 16;

fn hanging(cases: u64) -> TestCampaign {
    let mut campaign = against(Role::HangsIfGroupedStridedAndSame, cases);
    campaign.options.families = vec!["conv".to_owned()];
    campaign.options.deadlines.execute = Duration::from_millis(500);
    (campaign.options.minimize, campaign.options.experiments) = (false, false);
    campaign
}

/// The indices of the cases whose only verdict is such.
fn indices(journal: &[CaseRecord], is_such: impl Fn(&Verdict, Option<&Outcome>) -> bool) -> Vec<u64> {
    let is_such = |record: &&CaseRecord| {
        let [variant] = record.variants.as_slice() else { panic!("there is one variant") };
        is_such(&variant.verdict, variant.outcome.as_ref())
    };
    journal.iter().filter(is_such).map(|record| record.index).collect()
}

fn left_out(journal: &[CaseRecord]) -> Vec<u64> {
    indices(journal, |verdict, _| matches!(verdict, Verdict::LeftOut(_)))
}

fn hung(journal: &[CaseRecord]) -> Vec<u64> {
    indices(journal, |_, outcome| outcome == Some(&Outcome::TimedOut))
}

#[test]
fn predicted_hangs_are_left_out_alike_for_two_and_five_jobs() {
    let mut campaign = hanging(2 * BLOCK + 100);
    let five = campaign.record(5, 2);
    let (left_out, hung) = (left_out(&five.journal), hung(&five.journal));
    assert!(left_out.len() >= 5, "{left_out:?}");
    assert!(left_out.iter().all(|index| *index >= BLOCK), "{left_out:?}");
    // also of those that ran before the first block had taught anything
    let is_sample = |index: &u64| five.journal[*index as usize].case.number().is_multiple_of(SAMPLE);
    let hung_later: Vec<_> = hung.iter().filter(|index| **index >= BLOCK).collect();
    assert!(!hung_later.is_empty() && hung_later.into_iter().all(is_sample), "{hung:?}");
    campaign.record(2, 1).assert_same(&five);
    // what ran before is learned from again
    campaign.cut_journal(20_000);
    campaign.start = Start::Resumed;
    assert_eq!(campaign.record(3, 1).journal, five.journal);
}
