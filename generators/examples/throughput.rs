//! Prints how many cases a second each family generates on one core, encoding and materialising apart.

use std::{hint::black_box, time::Instant};

use twinfer_case::Task;
use twinfer_generators::Family;

const CASES: u64 = 50_000;

fn main() {
    for family in Family::ALL {
        let stream = family.stream(0);
        let start = Instant::now();
        for index in 0..CASES {
            black_box(stream.case(index));
        }
        let generated = start.elapsed();
        for index in 0..CASES {
            black_box(Task::of(&stream.case(index))).expect("a generated case is small");
        }
        let finished = start.elapsed() - generated;
        let rate = |time: std::time::Duration| CASES as f64 / time.as_secs_f64();
        println!(
            "{family}: {:.0} cases a second generated, {:.0} generated, encoded and materialised",
            rate(generated),
            rate(finished)
        );
    }
}
