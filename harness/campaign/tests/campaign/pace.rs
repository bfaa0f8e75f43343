//! How long a campaign takes whose backend starts and works slowly and has many defects, as TensorRT on a GPU does.

use std::{collections::BTreeSet, num::NonZeroUsize, time::Instant};

use twinfer_case::{Budget, Event, Verdict};

use crate::{
    actor::{SLOW_CASE, SLOW_START},
    stage::against,
};

const CASES: u64 = 1000;
const JOBS: usize = 6;

/// When time is up, cases are recorded whose divergences nobody had the time to look into, and say so.
pub fn out_of_time() {
    let mut production = against("is-slow-and-has-many-bugs", 0);
    production.options.budget = Budget::Seconds(4);
    production.options.jobs = NonZeroUsize::new(4).unwrap();
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
