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
            let prepared = EncodedCase::of(case.clone())?;
            let references = references(&prepared, &self.oracle);
            Ok((prepared, references))
        };
        let questions = cases.iter().map(question).collect::<Result<Vec<Question>, TargetError>>()?;
        thread::scope(|scope| {
            let questions = &questions;
            let ask = |crew| scope.spawn(move || ask(crew, questions, tell));
            let asked: Vec<_> = self.crews.iter().map(ask).collect();
            let panicked = |_| WorkerError::Supervisor("a thread of a survey panicked".to_owned());
            asked.into_iter().map(|thread| thread.join().map_err(panicked)?).collect()
        })
    }
}

fn ask(
    crew: &TriageWorkers,
    questions: &[Question],
    tell: &(dyn Fn(usize, &RecordedObservation) + Sync),
) -> Result<Vec<RecordedObservation>, TargetError> {
    let answer = |(place, (prepared, references)): (usize, &Question)| {
        let observation = crew.observe_warm(&prepared.task)?;
        let tried = Evaluated::of(crew.info(), prepared.clone(), references.clone(), observation);
        let recorded = RecordedObservation::of(crew.info(), &tried.observation, &tried.judgement.verdict);
        tell(place, &recorded);
        Ok(recorded)
    };
    questions.iter().enumerate().map(answer).collect()
}
