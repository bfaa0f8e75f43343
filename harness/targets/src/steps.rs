//! One step of a campaign, for one case.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use twinfer_case::{
    BackendVersion, Case, Divergence, EncodedCase, Event, Finding, Observation, Variant, VariantRecord,
};
use twinfer_checks::{Evaluated, expected_outputs, references};
use twinfer_store::{RecordedObservation, Recording, read_preceding, without_timings, write_finding};
use twinfer_triage::{Cancellation, DivergingCase, Reduction, Symptom, confirm_smaller, finding};
use twinfer_workers::TriageWorkers;

use crate::{TargetError, Targets, read_case};

/// How a recorded observation compares with what happens now.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Which variant.
    pub variant: Variant,
    /// The version that it was recorded with, and the one that ran now.
    pub versions: (BackendVersion, BackendVersion),
    /// Whether stage, ending and every output recur, byte for byte.
    pub recurs: bool,
    /// What the checks say now.
    pub record: VariantRecord,
}

/// What a minimisation came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimal {
    /// The finding that the minimal case shows.
    pub finding: Finding,
    /// Where it was written.
    pub folder: PathBuf,
}

impl Targets {
    /// What each variant does with `case`, in a worker that has run nothing else, and what the checks say of it.
    pub fn check(&self, case: &Case) -> Result<Vec<VariantRecord>, TargetError> {
        self.workers.iter().map(|workers| Ok(self.try_fresh(workers, case)?.record(workers.info()))).collect()
    }

    /// Runs the case of the finding in `folder` again on every subject that something was recorded of, after the cases that
    /// it needs before it.
    pub fn replay(&self, folder: &Path) -> Result<Vec<Replay>, TargetError> {
        let case = read_case(folder)?;
        let history = read_preceding(folder)?.into_iter().map(EncodedCase::encode);
        let history = history.collect::<Result<Vec<_>, _>>()?;
        let recording = Recording::read_beside(folder)?;
        let mut replays = Vec::new();
        for workers in &self.workers {
            let recorded = recording.observed.iter().filter(|one| one.variant == workers.info().variant);
            for recorded in recorded {
                let evaluated = self.try_after(workers, &history, &case)?;
                replays.push(Replay {
                    variant: recorded.variant.clone(),
                    versions: (recorded.version.clone(), workers.info().description.backend_version()),
                    recurs: recurs(recorded, &evaluated),
                    record: evaluated.record(workers.info()),
                });
            }
        }
        Ok(replays)
    }

    /// Makes `case` smaller for the first subject that diverges on it, and writes the finding under `out`; `None`
    /// where nothing diverges. Of what it shows, what the `known` finding is about is followed, if that is there.
    pub fn minimize(
        &self,
        case: &Case,
        known: Option<&Finding>,
        out: &Path,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Option<Minimal>, TargetError> {
        for workers in &self.workers {
            let evaluated = self.try_fresh(workers, case)?;
            let Some(symptom) = symptom(&evaluated, known) else { continue };
            let diverging = DivergingCase { evaluated: evaluated.clone(), symptom };
            let reduction =
                Reduction { workers, oracle: &self.oracle, cancellation: &Cancellation::default() };
            let smaller = reduction.reduce(&diverging, sink)?;
            let minimal = confirm_smaller(&smaller, workers)?.unwrap_or(diverging);
            let finding = finding(workers.info(), &evaluated, &minimal, Vec::new());
            let folder = out.join(finding.signature.slug());
            let Evaluated { encoded, references, observation, .. } = &minimal.evaluated;
            let outputs = expected_outputs(references)?;
            write_finding(&folder, &finding, (encoded, &outputs), (workers.info(), observation))?;
            return Ok(Some(Minimal { finding, folder }));
        }
        Ok(None)
    }

    /// What a subject does with `case` in a worker that has run `history` and nothing else; by itself where that ends it.
    fn try_after(
        &self,
        workers: &TriageWorkers,
        history: &[Arc<EncodedCase>],
        case: &Case,
    ) -> Result<Evaluated, TargetError> {
        let encoded = EncodedCase::encode(case.clone())?;
        if history.is_empty() {
            return self.try_fresh(workers, case);
        }
        let Some(observation) = workers.observe_after(history, &encoded)? else {
            return self.try_fresh(workers, case);
        };
        let references = references(&encoded, &self.oracle);
        Ok(Evaluated::new(workers.info(), encoded, references, observation))
    }

    fn try_fresh(&self, workers: &TriageWorkers, case: &Case) -> Result<Evaluated, TargetError> {
        let encoded = EncodedCase::encode(case.clone())?;
        let references = references(&encoded, &self.oracle);
        let observation = workers.observe_fresh(&encoded.task)?;
        Ok(Evaluated::new(workers.info(), encoded, references, observation))
    }
}

/// What a case shows: what the `known` finding is about where it is there, and otherwise what comes first.
fn symptom(evaluated: &Evaluated, known: Option<&Finding>) -> Option<Symptom> {
    let is_known = |divergence: &&Divergence| {
        known.is_some_and(|known| (known.stage, known.kind) == (divergence.stage, divergence.kind))
    };
    let divergences = evaluated.divergences();
    let lead = divergences.iter().find(is_known).or(divergences.first())?;
    let diagnosis = known.map_or(&[][..], |known| &known.diagnosis);
    Some(Symptom::of(lead, evaluated).explained_by(diagnosis))
}

/// Whether what was recorded is what happened, byte for byte; log lines may differ.
fn recurs(recorded: &RecordedObservation, evaluated: &Evaluated) -> bool {
    let now = without_timings(&evaluated.observation);
    let then = &recorded.observation;
    let bytes = |observation: &Observation| {
        let outputs = observation.runs.iter().flat_map(|run| &run.outputs);
        outputs.map(|tensor| (tensor.dtype(), tensor.shape.clone(), tensor.to_le_bytes())).collect::<Vec<_>>()
    };
    then.stage == now.stage && then.outcome == now.outcome && bytes(then) == bytes(&now)
}
