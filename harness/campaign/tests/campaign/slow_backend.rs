//! How long a campaign takes whose backend starts and works slowly and has many defects, as TensorRT on a GPU does.

use std::{collections::BTreeSet, fs, num::NonZeroUsize, time::Instant};

use twinfer_case::{Budget, Event, Verdict};
use twinfer_store::Records;

use crate::{
    actor::{SLOW_CASE, SLOW_START},
    setup::against,
};

const CASES: u64 = 1000;
const JOBS: usize = 6;

/// When time is up, cases are recorded whose divergences nobody had the time to look into, and say so; a run that goes on
/// begins with these.
pub fn out_of_time() {
    let mut production = against("is-slow-and-has-many-bugs", 0);
    production.options.budget = Budget::Seconds(2);
    production.options.jobs = NonZeroUsize::new(2).unwrap();
    production.options.investigations = NonZeroUsize::MIN;
    let outcome = production.run();
    let journal = outcome.journal();
    let open: Vec<_> = journal.iter().filter(|record| !record.open.is_empty()).collect();
    assert!(open.len() > 1, "{} of {}", open.len(), journal.len());
    assert_eq!(outcome.summary.open, open.len() as u64);
    assert!(open.iter().all(|record| record.findings.is_empty()), "the actor has one bug a case");
    let diverging = journal.iter().filter(|record| !record.variants[0].verdict.divergences().is_empty());
    let found = journal.iter().filter(|record| !record.findings.is_empty()).count();
    assert_eq!(diverging.count(), found + open.len());
    assert!(found > 0, "what is investigated or known is told");

    let records = || Records::open(&outcome.out).unwrap().map(Result::unwrap).collect::<Vec<_>>();
    let path = outcome.out.join("journal.jsonl");
    let (before, text) = (records(), fs::read(&path).unwrap());
    production.options.resume = true;
    production.options.minimize = false;
    production.options.investigations = NonZeroUsize::new(JOBS).unwrap();
    production.options.budget = Budget::Cases(before.len() as u64);
    let resumed = production.run();
    let after = records();
    assert_eq!((resumed.summary.cases, resumed.summary.open), (before.len() as u64, 0));
    assert_eq!(resumed.summary.now(), open.len() as u64);
    assert_eq!(fs::read(&path).unwrap(), text, "the journal holds these cases already");
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((before.case, before.variants.len()), (after.case, after.variants.len()));
        if before.open.is_empty() {
            assert_eq!(before, after);
        } else {
            assert!(after.open.is_empty() && !after.findings.is_empty(), "{:?}", after.provenance);
        }
    }
    let told: BTreeSet<_> = resumed.findings().iter().map(|finding| finding.signature.slug()).collect();
    let shown: BTreeSet<_> = after.iter().flat_map(|record| record.findings.clone()).collect();
    assert_eq!(told, shown);
    let counted: u64 = resumed.summary.findings.iter().map(|count| count.cases).sum();
    assert_eq!(counted as usize, after.iter().map(|record| record.findings.len()).sum::<usize>());

    // and once more, with nothing left
    let again = production.run();
    assert_eq!((again.summary.cases, again.summary.open), (before.len() as u64, 0));
    assert_eq!(again.summary.findings.len(), resumed.summary.findings.len());
    assert!(!again.events.iter().any(|event| matches!(event, Event::CaseFinished { .. })));
}

/// Prints the wall time beside what the cases alone take; timings are no assertions.
pub fn slow_backend() {
    let mut production = against("is-slow-and-has-many-bugs", CASES);
    production.options.jobs = NonZeroUsize::new(JOBS).unwrap();
    production.options.investigations = NonZeroUsize::new(JOBS).unwrap();
    let begun = Instant::now();
    let outcome = production.run();
    let seconds = begun.elapsed().as_secs_f64();
    let diverging = outcome
        .journal()
        .iter()
        .filter(|record| record.variants.iter().any(|one| matches!(one.verdict, Verdict::Diverges(_))))
        .count();
    let signatures: BTreeSet<_> = outcome.findings().into_iter().map(|one| one.signature).collect();
    let candidates: Vec<_> =
        outcome.events.iter().filter(|one| matches!(one, Event::Minimizing { .. })).collect();
    let alone = SLOW_START.as_secs_f64() + CASES as f64 * SLOW_CASE.as_secs_f64() / JOBS as f64;
    println!(
        "{CASES} cases, {diverging} of them diverging, {} findings, {} steps of minimisation, {JOBS} jobs: {seconds:.1} s; \
         the cases alone take {alone:.1} s",
        signatures.len(),
        candidates.len(),
    );
    assert_eq!(outcome.summary.cases, CASES);
}
