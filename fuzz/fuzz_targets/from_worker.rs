//! The frames that a supervisor reads from a worker, and the checks on them.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use twinfer_case::{Case, Description, Observation, Stage, Task, Variant, Verdict};
use twinfer_checks::{Evidence, judge};
use twinfer_fuzz::generated;
use twinfer_golden::{Evaluation, Unknown, evaluate};
use twinfer_protocol::{FromWorker, read_from_worker};

/// A case with its golden references.
struct Known {
    case: Case,
    task: Task,
    references: Vec<Result<Evaluation, Unknown>>,
}

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let known = |case: Case| {
        let task = Task::of(&case).expect("a generated case is small");
        let references = task.runs.iter().map(|inputs| evaluate(&case.graph, inputs)).collect();
        Known { case, task, references }
    };
    generated(2).map(known).collect()
});

fuzz_target!(|bytes: &[u8]| {
    let mut stream = bytes;
    let mut description = Description::new("backend", "1", Stage::Execute);
    let mut earlier = None;
    while let Ok(Some(message)) = read_from_worker(&mut stream) {
        round_trip(&message);
        match message {
            FromWorker::Hello { backends, .. } => {
                if let Some(said) = backends.into_iter().next() {
                    description = said;
                }
            }
            FromWorker::Answer { hash, variant, observation, .. } => {
                for known in KNOWN.iter().filter(|known| known.task.hash == hash || variant == 0) {
                    judged(known, &description, &observation, earlier.as_ref());
                }
                earlier = Some(observation);
            }
            FromWorker::Stage { .. } | FromWorker::Fault(_) => {}
        }
    }
});

/// A frame is written as it was read.
fn round_trip(message: &FromWorker) {
    let written = |message: &FromWorker| {
        let mut bytes = Vec::new();
        message.write(&mut bytes).expect("no larger than what was read");
        bytes
    };
    let bytes = written(message);
    let again = read_from_worker(&mut bytes.as_slice()).expect("our own frame").expect("one message");
    assert_eq!(written(&again), bytes);
}

/// The checks return a judgement for every answer of a worker.
fn judged(
    known: &Known,
    description: &Description,
    observation: &Observation,
    earlier: Option<&Observation>,
) {
    let variant: Variant = "external:worker".parse().expect("a variant");
    let evidence = Evidence {
        case: &known.case,
        variant: &variant,
        description,
        references: &known.references,
        observation,
        repeat: earlier,
        fresh: None,
    };
    let judgement = judge(&evidence);
    let conforms_in_execution =
        judgement.compared && judgement.verdict == Verdict::Conforms && description.reaches == Stage::Execute;
    assert!(!conforms_in_execution || observation.runs.len() == known.references.len());
    judge(&Evidence { repeat: None, fresh: earlier, ..evidence });
}
