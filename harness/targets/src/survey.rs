//! A *survey* asks every variant about the same cases and keeps what each did with each.

use std::thread;

use twinfer_case::{Case, EncodedCase};
use twinfer_checks::{Evaluated, RunReference, references};
use twinfer_store::RecordedObservation;
use twinfer_workers::{TriageWorkers, WorkerError};

use crate::{TargetError, Targets};

/// A case that is encoded, with what golden knows of it.
type Question = (std::sync::Arc<EncodedCase>, Vec<RunReference>);

impl Targets {
    /// What each variant does with each case: one list a variant, in the order of the cases.
    ///
    /// Variants work side by side, each in one worker as long as that lives. `tell` hears of every answer, with
    /// the place of its case.
    pub fn survey(
        &self,
        cases: &[Case],
        tell: &(dyn Fn(usize, &RecordedObservation) + Sync),
    ) -> Result<Vec<Vec<RecordedObservation>>, TargetError> {
        let question = |case: &Case| {
            let encoded = EncodedCase::encode(case.clone())?;
            let references = references(&encoded, &self.oracle);
            Ok((encoded, references))
        };
        let questions = cases.iter().map(question).collect::<Result<Vec<Question>, TargetError>>()?;
        thread::scope(|scope| {
            let questions = &questions;
            let ask = |workers| scope.spawn(move || ask(workers, questions, tell));
            let asked: Vec<_> = self.workers.iter().map(ask).collect();
            let panicked = |_| WorkerError::Supervisor("a thread of a survey panicked".to_owned());
            asked.into_iter().map(|thread| thread.join().map_err(panicked)?).collect()
        })
    }
}

fn ask(
    workers: &TriageWorkers,
    questions: &[Question],
    tell: &(dyn Fn(usize, &RecordedObservation) + Sync),
) -> Result<Vec<RecordedObservation>, TargetError> {
    let answer = |(place, (encoded, references)): (usize, &Question)| {
        let observation = workers.observe_warm(&encoded.task)?;
        let evaluated = Evaluated::new(workers.info(), encoded.clone(), references.clone(), observation);
        let recorded =
            RecordedObservation::new(workers.info(), &evaluated.observation, &evaluated.judgement.verdict);
        tell(place, &recorded);
        Ok(recorded)
    };
    questions.iter().enumerate().map(answer).collect()
}
