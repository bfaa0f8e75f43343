//! Prints how many cases a second each family generates on one core, encoding and materializing apart.

use std::{hint::black_box, time::Instant};

use twinfer_case::Task;
use twinfer_generators::{Distribution, Family};

const CASES: u64 = 50_000;

fn main() {
    for family in Family::ALL {
        let stream = family.stream(Distribution::Baseline, 0);
        let generated = rate(|index| drop(black_box(stream.case(index))));
        let finished = rate(|index| drop(black_box(Task::of(&stream.case(index)))));
        println!(
            "{family}: {generated:.0} cases a second generated, {finished:.0} encoded and materialized too"
        );
    }
}

fn rate(work: impl Fn(u64)) -> f64 {
    let start = Instant::now();
    (0..CASES).for_each(work);
    CASES as f64 / start.elapsed().as_secs_f64()
}
