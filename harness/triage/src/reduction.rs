//! *Reduction*: making a case smaller that still shows its symptom, by running candidates in warm workers. Candidates
//! run at once, and the first success in the order of the passes counts, whichever finishes first.

use std::thread;

use twinfer_case::{Case, DeviceUse, EncodedCase, Event, Kind, Stage};
use twinfer_checks::{Evaluated, Oracle, references};
use twinfer_minimize::Reducer;
use twinfer_workers::TriageWorkers;

use crate::{
    TriageError, catalog::Identity, classes::classes, investigation::Cancellation, symptom::Symptom,
};

/// Candidates that are evaluated for one case at most.
const LIMIT: usize = 500;
/// After this many candidates in a row that do not show the symptom it is made sure that the case itself still does: one
/// that comes and goes, as where memory is read that nobody wrote, is looked for in hundreds of candidates otherwise.
const DOUBT: usize = 24;
/// Candidates that are evaluated at most to see whether anything hides behind what is known.
const LOOK: usize = 12;
/// The same where a candidate has the device alone, so that the cases of the campaign wait for it.
const SHORT_LOOK: usize = 3;
/// The most of either where what shows is a hang: each candidate that hangs takes the deadline of its stage twice, minutes
/// with TensorRT.
const HANGS: usize = 8;

/// A case with what it shows.
#[derive(Clone)]
pub struct DivergingCase {
    /// The case, and what was observed.
    pub evaluated: Evaluated,
    /// What a smaller case must still show.
    pub symptom: Symptom,
}

/// Makes cases smaller.
pub struct Reduction<'a> {
    /// The workers that run candidates.
    pub workers: &'a TriageWorkers,
    /// The reference that judges them.
    pub oracle: &'a Oracle,
    /// Ends early where it does not go on.
    pub cancellation: &'a Cancellation,
}

impl Reduction<'_> {
    /// The smallest case found that shows the symptom of `diverging` in warm workers, with what it shares with all larger
    /// ones; `diverging` itself where there is none.
    pub fn reduce(
        &self,
        diverging: &DivergingCase,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<DivergingCase, TriageError> {
        let original = diverging.evaluated.encoded.task.hash;
        let mut reducer = reducer(diverging, LIMIT)?;
        let mut smallest = diverging.clone();
        let (mut count, mut in_vain) = (0, 0);
        let _lease = self.workers.lease();
        while self.cancellation.is_active() {
            if in_vain >= DOUBT {
                in_vain = 0;
                if !self.recurs(&smallest)? {
                    break;
                }
            }
            let candidates = reducer.propose(self.workers.limit_per_lease());
            if candidates.is_empty() {
                break;
            }
            let mut candidates = self.try_warm(candidates, smallest.symptom.stage())?;
            let success = candidates
                .iter()
                .enumerate()
                .find_map(|(place, candidate)| Some((place, smallest.symptom.shared_with(candidate)?)));
            reducer.decide(success.as_ref().map(|(place, _)| *place));
            count += success.as_ref().map_or(candidates.len(), |(place, _)| place + 1) as u64;
            in_vain = success.as_ref().map_or(in_vain + candidates.len(), |_| 0);
            if let Some((place, symptom)) = success {
                smallest = DivergingCase { evaluated: candidates.swap_remove(place), symptom };
                let size = smallest.evaluated.encoded.size();
                sink(&Event::Minimizing { case: original, size, tried: count });
            }
        }
        Ok(smallest)
    }

    /// Whether a case shows its symptom once more, in a warm worker.
    pub fn recurs(&self, diverging: &DivergingCase) -> Result<bool, TriageError> {
        let DivergingCase { evaluated, symptom } = diverging;
        let again = evaluated.with(self.workers.info(), self.workers.observe_warm(&evaluated.encoded.task)?);
        Ok(symptom.recurs_in(&again))
    }

    /// A case one step simpler than `diverging` that shows the same symptom without having all that `known` needs; `None`
    /// where the first few do not.
    pub fn look_behind(
        &self,
        diverging: &DivergingCase,
        known: &Identity,
    ) -> Result<Option<DivergingCase>, TriageError> {
        let look = match self.workers.info().description.device_use {
            DeviceUse::Shared => LOOK,
            DeviceUse::Alone => SHORT_LOOK,
        };
        let mut reducer = reducer(diverging, look)?;
        let is_without = |case: &Case| !known.is_contained_in(&classes(case));
        let _lease = self.workers.lease();
        while self.cancellation.is_active() {
            let candidates = reducer.propose_if(self.workers.limit_per_lease(), is_without);
            if candidates.is_empty() {
                break;
            }
            let candidates = self.try_warm(candidates, diverging.symptom.stage())?;
            let shown = candidates.into_iter().find_map(|evaluated| {
                let symptom = diverging.symptom.shared_with(&evaluated)?;
                Some(DivergingCase { evaluated, symptom })
            });
            if shown.is_some() {
                return Ok(shown);
            }
            reducer.decide(None);
        }
        Ok(None)
    }

    /// Runs candidates at once, each in a worker of its own, and gives them in their order. What parsing shows needs no
    /// engine.
    fn try_warm(&self, candidates: Vec<Case>, shown_in: Stage) -> Result<Vec<Evaluated>, TriageError> {
        self.cancellation.count_candidates(candidates.len());
        let until = if shown_in == Stage::Parse { Stage::Parse } else { Stage::Execute };
        let try_one = |candidate: Case| {
            let encoded = EncodedCase::encode(candidate)?;
            let references = references(&encoded, self.oracle);
            let observation = self.workers.observe_warm(&encoded.task.clone().until(until))?;
            Ok(Evaluated::new(self.workers.info(), encoded, references, observation))
        };
        thread::scope(|scope| {
            let try_one = &try_one;
            let running: Vec<_> =
                candidates.into_iter().map(|candidate| scope.spawn(move || try_one(candidate))).collect();
            running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked()))).collect()
        })
    }
}

/// What `smaller` shows in a worker that has run nothing else, if that is still the same.
pub fn confirm_smaller(
    smaller: &DivergingCase,
    workers: &TriageWorkers,
) -> Result<Option<DivergingCase>, TriageError> {
    let observation = workers.observe_fresh(&smaller.evaluated.encoded.task)?;
    let evaluated = smaller.evaluated.with(workers.info(), observation);
    Ok(smaller.symptom.shared_with(&evaluated).map(|symptom| DivergingCase { evaluated, symptom }))
}

/// Proposes at most `limit` candidates, or fewer where each takes long.
fn reducer(diverging: &DivergingCase, limit: usize) -> Result<Reducer, TriageError> {
    let limit = if diverging.symptom.kind() == Kind::Hang { limit.min(HANGS) } else { limit };
    let failed = |reason: twinfer_case::OversizedRecipe| TriageError::Supervisor(reason.to_string());
    Reducer::new(&diverging.evaluated.encoded.case, limit).map_err(failed)
}

fn panicked() -> TriageError {
    TriageError::Supervisor("a thread that evaluated a candidate panicked".to_owned())
}
