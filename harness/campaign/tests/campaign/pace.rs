//! How long a campaign takes whose backend starts and works slowly and has many defects, as TensorRT on a GPU does.

use std::{collections::BTreeSet, num::NonZeroUsize, time::Instant};

use twinfer_case::{Event, Verdict};

use crate::{
    actor::{SLOW_CASE, SLOW_START},
    stage::against,
};

const CASES: u64 = 1000;
const JOBS: usize = 6;

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
