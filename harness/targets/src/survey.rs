//! A *survey* runs the same cases on every variant and keeps every observation.

use std::{sync::Arc, thread};

use twinfer_case::{Case, EncodedCase, LibraryInfo};
use twinfer_checks::{CaseReferences, Evaluated};
use twinfer_store::{Observed, RecordedObservation};
use twinfer_triage::Scrutiny;
use twinfer_workers::{TriageWorkers, WorkerError};

use crate::{TargetError, Targets};

/// A case with the outputs that golden computes for it.
type ReferencedCase = (Arc<EncodedCase>, CaseReferences);

/// Receives an observation with the place of its case, on the thread of the variant.
type OnObservation<'a> = &'a (dyn Fn(usize, &RecordedObservation) + Sync);

impl Targets {
    /// Runs every case on every variant: for each variant a list of observations with verdicts, in the order of the cases.
    ///
    /// The variants run at the same time, each in one worker for as long as that worker lives. `on_observation` receives each
    /// observation as it is made, with the place of its case.
    pub fn survey(
        &self,
        cases: &[Case],
        on_observation: &(dyn Fn(usize, &RecordedObservation) + Sync),
    ) -> Result<Vec<Vec<RecordedObservation>>, TargetError> {
        let reference = |case: &Case| {
            let encoded = EncodedCase::encode(case.clone())?;
            let references = CaseReferences::new(Arc::clone(&encoded), Arc::clone(&self.oracle));
            Ok((encoded, references))
        };
        let cases = cases.iter().map(reference).collect::<Result<Vec<ReferencedCase>, TargetError>>()?;
        thread::scope(|scope| {
            let cases = &cases;
            let survey = |tested| scope.spawn(move || survey_variant(tested, cases, on_observation));
            let with_library = |workers| (workers, self.libraries.of(&TriageWorkers::info(workers).variant));
            let running: Vec<_> = self.variants.iter().map(with_library).map(survey).collect();
            let panicked = |_| WorkerError::Supervisor("a thread of a survey panicked".to_owned());
            running.into_iter().map(|thread| thread.join().map_err(panicked)?).collect()
        })
    }
}

fn survey_variant(
    (workers, library): (&TriageWorkers, Option<&LibraryInfo>),
    cases: &[ReferencedCase],
    on_observation: OnObservation<'_>,
) -> Result<Vec<RecordedObservation>, TargetError> {
    let observe = |(place, (encoded, references)): (usize, &ReferencedCase)| {
        let observation = workers.observe_warm(&encoded.task)?;
        let references = references.of(workers.info().description.arithmetic).to_vec();
        let mut evaluated = Evaluated::new(workers.info(), encoded.clone(), references, observation);
        Scrutiny::Rounded.apply(workers, &mut evaluated)?;
        let Evaluated { observation, judgement, .. } = &evaluated;
        let observed = Observed { info: workers.info(), library, observation };
        let recorded = RecordedObservation::new(observed, &judgement.verdict, judgement.compared);
        on_observation(place, &recorded);
        Ok(recorded)
    };
    cases.iter().enumerate().map(observe).collect()
}
