use std::{collections::BTreeMap, time::Instant};

use twinfer_case::{Case, CaseRecord, Stage, Summary, Task};

/// Where the processor time of a campaign goes.
#[derive(Default)]
pub struct Shares {
    stages: BTreeMap<Stage, u64>,
}

/// The cases on which generating, encoding and evaluating are timed on their own.
const SAMPLE: usize = 2000;

impl Shares {
    /// Adds what the workers say of one case.
    pub fn add(&mut self, record: &CaseRecord) {
        for timing in record.variants.iter().flat_map(|variant| &variant.timings) {
            *self.stages.entry(timing.stage).or_default() += timing.micros;
        }
    }

    /// Microseconds a case in each stage of all backends together.
    pub fn stages(&self, summary: &Summary) -> impl Iterator<Item = (String, f64)> {
        let total = summary.cases.max(1) as f64;
        self.stages.iter().map(move |(stage, micros)| (format!("backend: {stage}"), *micros as f64 / total))
    }

    /// Microseconds a case on one processor, by what they are spent on; the rest is what is left of all processors.
    pub fn of(&self, summary: &Summary, cases: &[Case], processors: usize) -> Vec<(String, f64)> {
        let total = summary.cases.max(1) as f64;
        let mut shares: Vec<(String, f64)> = self.stages(summary).collect();
        let sample = &cases[..cases.len().min(SAMPLE)];
        let encoding = timed(sample, |case| drop(Task::of(case)));
        shares.push(("encoding and materialising".to_owned(), encoding));
        shares.push(("golden".to_owned(), timed(sample, evaluate) - encoding));
        let whole = summary.seconds * 1e6 * processors as f64 / total;
        let known: f64 = shares.iter().map(|(_, micros)| micros).sum();
        shares.push(("everything else, waiting included".to_owned(), (whole - known).max(0.0)));
        shares.push(("all processors together".to_owned(), whole));
        shares
    }
}

fn evaluate(case: &Case) {
    let Ok(task) = Task::of(case) else { return };
    for inputs in &task.runs {
        drop(twinfer_golden::evaluate(&case.graph, inputs));
    }
}

fn timed(cases: &[Case], work: impl Fn(&Case)) -> f64 {
    let started = Instant::now();
    cases.iter().for_each(work);
    started.elapsed().as_secs_f64() * 1e6 / cases.len().max(1) as f64
}
