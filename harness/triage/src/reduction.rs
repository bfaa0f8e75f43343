//! *Reduction* makes a case smaller that still shows its symptom, by running candidates in warm workers. Candidates run at the
//! same time, and the first success in the order of the passes is accepted, whichever finishes first.

use std::thread;

use twinfer_case::{BackendName, Case, CaseHash, DeviceUse, EncodedCase, Event, Kind, Outcome, Stage};
use twinfer_checks::{Evaluated, Oracle, references};
use twinfer_minimize::Reducer;
use twinfer_workers::TriageWorkers;

use crate::{
    TriageError,
    cancellation::{Cancellation, Purpose},
    diverging_case::DivergingCase,
    identity::Identity,
    isolation::{CutOut, cut_out, isolated},
    steadiness::Steadiness,
    symptom::Symptom,
};

/// Candidates that are tried at most to minimize one case.
const MAX_CANDIDATES: usize = 500;
/// After this many candidates in a row without the symptom, the smallest case runs again, and the reduction ends if the
/// symptom does not recur. A symptom that comes and goes, as with memory that is read before it is written, would otherwise
/// be searched for in hundreds of candidates.
const MAX_FAILURES: usize = 24;
/// Candidates that are tried at most to find another bug hidden behind a known finding.
const MAX_LOOKS: usize = 12;
/// The same number for a backend that wants its device alone: the cases of the campaign wait meanwhile.
const MAX_LOOKS_ALONE: usize = 3;
/// The limit of all these numbers if the symptom is a hang: each candidate that hangs takes the deadline of its stage, minutes with
/// TensorRT.
const MAX_HANGS: usize = 8;
/// The limit if the symptom is a crash of a backend that uses CUDA: each candidate that crashes ends a worker, which takes seconds to
/// start, and holds up the other processes of the device.
const MAX_CRASHES: usize = 80;

/// Makes cases smaller.
pub struct Reduction<'a> {
    /// The workers that run candidates.
    pub workers: &'a TriageWorkers,
    /// The reference that judges candidates.
    pub oracle: &'a Oracle,
    /// Ends the reduction early.
    pub cancellation: &'a Cancellation,
}

impl Reduction<'_> {
    /// The smallest case found that shows the bug of `diverging` in warm workers, and shows it as clearly; `diverging` itself if
    /// no smaller case does. Of a refusal that only follows from a wrong shape, the case shows the wrong shape.
    pub fn reduce(
        &self,
        diverging: &DivergingCase,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<DivergingCase, TriageError> {
        let _lease = self.workers.lease();
        let mut steadiness = Steadiness::default();
        let isolated = self.isolate(diverging, &mut steadiness)?;
        let original = diverging.evaluated.encoded.task.hash;
        let smallest = self.descend_to_cause(&isolated, original, &mut steadiness, sink)?;
        if !steadiness.is_expected() {
            return Ok(smallest);
        }
        // the last steps were taken without seeing the symptom twice
        let again = self.again(&smallest)?;
        if let Some(whole) = DivergingCase::with_shared_symptom(&smallest.symptom, again) {
            return Ok(whole);
        }
        steadiness = Steadiness::UNSTEADY;
        self.descend_to_cause(&isolated, original, &mut steadiness, sink)
    }

    /// The smallest case found that shows the symptom of `diverging` or, if that only follows from a wrong shape, the wrong shape.
    fn descend_to_cause(
        &self,
        diverging: &DivergingCase,
        original: CaseHash,
        steadiness: &mut Steadiness,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<DivergingCase, TriageError> {
        let smallest = self.descend(diverging, original, steadiness, sink)?;
        match self.cause_of_refusal(&smallest, steadiness)? {
            Some(cause) => self.descend(&cause, original, steadiness, sink),
            None => Ok(smallest),
        }
    }

    /// The smallest case found that shows the symptom of `diverging`, twice at each step unless it is expected to recur.
    fn descend(
        &self,
        diverging: &DivergingCase,
        original: CaseHash,
        steadiness: &mut Steadiness,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<DivergingCase, TriageError> {
        let mut smallest = diverging.clone();
        let mut reducer = reducer(&smallest, self.backend(), MAX_CANDIDATES)?;
        let (mut tried, mut failures) = (0, 0);
        while self.cancellation.is_active() {
            if failures >= MAX_FAILURES {
                failures = 0;
                let Some(symptom) = self.seen_again(&smallest)? else { break };
                smallest.symptom = symptom;
            }
            let candidates = reducer.propose(self.workers.limit_per_lease());
            if candidates.is_empty() {
                break;
            }
            let candidates = self.run_warm(Purpose::Reduction, candidates, &smallest.symptom)?;
            let count = candidates.len();
            let success = self.first_recurring(&smallest.symptom, candidates, steadiness)?;
            reducer.decide(success.as_ref().map(|(place, _)| *place));
            if let Some((place, smaller)) = success {
                tried += place as u64 + 1;
                failures = 0;
                smallest = smaller;
                let size = smallest.evaluated.encoded.size();
                sink(&Event::Minimizing { case: original, size, tried });
            } else {
                tried += count as u64;
                failures += count;
            }
        }
        Ok(smallest)
    }

    /// The first node of the case of `diverging` that shows the symptom on its own, as a case; `diverging` itself if none does. A node
    /// that is wrong on its own for another reason refutes what explains the case: that holds by accident.
    fn isolate(
        &self,
        diverging: &DivergingCase,
        steadiness: &mut Steadiness,
    ) -> Result<DivergingCase, TriageError> {
        // each node that hangs takes the deadline of its stage
        if diverging.symptom.kind() == Kind::Hang {
            return Ok(diverging.clone());
        }
        let unexplained = diverging.symptom.clone().without_explanations();
        let mut isolated = isolated(&diverging.evaluated.encoded.case);
        let mut refuting = Vec::new();
        while !isolated.is_empty() && self.cancellation.is_active() {
            let rest = isolated.split_off(isolated.len().min(self.workers.limit_per_lease()));
            let nodes = self.run_warm(Purpose::Reduction, isolated, &diverging.symptom)?;
            let is_wrong = |node: &&Evaluated| unexplained.recurring_in(node).is_some();
            refuting.extend(nodes.iter().find(is_wrong).filter(|_| refuting.is_empty()).cloned());
            if let Some((_, alone)) = self.first_recurring(&diverging.symptom, nodes, steadiness)? {
                return Ok(alone);
            }
            isolated = rest;
        }
        let refuting = self.first_recurring(&unexplained, refuting, steadiness)?;
        Ok(refuting.map_or_else(|| diverging.clone(), |(_, alone)| alone))
    }

    /// The node, as a case, whose wrong shape is why the backend refuses the case of `diverging`: it accepts the case with the right shape
    /// in its place. `None` if there is no such node.
    fn cause_of_refusal(
        &self,
        diverging: &DivergingCase,
        steadiness: &mut Steadiness,
    ) -> Result<Option<DivergingCase>, TriageError> {
        if !matches!(diverging.symptom.kind(), Kind::RejectsValid | Kind::BuildFailure) {
            return Ok(None);
        }
        for CutOut { node, rest } in cut_out(&diverging.evaluated.encoded.case) {
            if !self.cancellation.is_active() {
                break;
            }
            let alone = self.run_until(Stage::Execute, Purpose::Reduction, vec![node], &diverging.symptom)?;
            let wrong_shape = alone.iter().find_map(|alone| {
                let lead = alone.divergences().iter().find(|one| one.kind == Kind::WrongShape)?;
                Some(Symptom::of(lead, alone))
            });
            let Some(wrong_shape) = wrong_shape else { continue };
            let rest = self.run_warm(Purpose::Reduction, vec![rest], &diverging.symptom)?;
            if rest.iter().all(|rest| rest.observation.outcome == Outcome::Ok)
                && let Some((_, cause)) = self.first_recurring(&wrong_shape, alone, steadiness)?
            {
                return Ok(Some(cause));
            }
        }
        Ok(None)
    }

    fn backend(&self) -> &BackendName {
        &self.workers.info().variant.backend
    }

    /// Whether a case shows its symptom once more in a warm worker.
    pub fn recurs(&self, diverging: &DivergingCase) -> Result<bool, TriageError> {
        Ok(self.seen_again(diverging)?.is_some())
    }

    /// The symptom of a case that shows it once more in a warm worker, as far as it [varies](Symptom::varying_as); `None` if it does not show it.
    pub fn seen_again(&self, diverging: &DivergingCase) -> Result<Option<Symptom>, TriageError> {
        let again = self.again(diverging)?;
        let recurs = diverging.symptom.recurring_in(&again).is_some();
        Ok(recurs.then(|| diverging.symptom.clone().varying_as(&again)))
    }

    /// The case once more in a warm worker, in every stage: what goes wrong later can hide the symptom.
    fn again(&self, DivergingCase { evaluated, .. }: &DivergingCase) -> Result<Evaluated, TriageError> {
        self.cancellation.count(Purpose::Reduction, 1);
        Ok(evaluated.with(self.workers.info(), self.workers.observe_warm(&evaluated.encoded.task)?))
    }

    /// A case one step simpler than `diverging` that shows the same symptom and is not one that shows the `known` finding, so
    /// that another bug is hidden behind that finding; `None` if none of the first few candidates does.
    pub fn look_behind(
        &self,
        diverging: &DivergingCase,
        known: &Identity,
    ) -> Result<Option<DivergingCase>, TriageError> {
        let limit = match self.workers.info().description.device_use {
            DeviceUse::Shared => MAX_LOOKS,
            DeviceUse::Alone => MAX_LOOKS_ALONE,
        };
        let mut reducer = reducer(diverging, self.backend(), limit)?;
        let is_another = |case: &Case| !known.is_shown_by(case);
        let _lease = self.workers.lease();
        while self.cancellation.is_active() {
            let candidates = reducer.propose_if(self.workers.limit_per_lease(), is_another);
            if candidates.is_empty() {
                break;
            }
            let candidates = self.run_warm(Purpose::Reduction, candidates, &diverging.symptom)?;
            let mut steadiness = Steadiness::default();
            if let Some((_, other)) = self.first_recurring(&diverging.symptom, candidates, &mut steadiness)? {
                return Ok(Some(other));
            }
            reducer.decide(None);
        }
        Ok(None)
    }

    /// The first candidate that shows the symptom, and shows it again when it runs once more, as it ran then, with its place among the
    /// candidates: what comes and goes would lead the reduction of the same case elsewhere each time. A symptom that recurred each time so
    /// far need not be shown twice.
    fn first_recurring(
        &self,
        symptom: &Symptom,
        candidates: Vec<Evaluated>,
        steadiness: &mut Steadiness,
    ) -> Result<Option<(usize, DivergingCase)>, TriageError> {
        for (place, evaluated) in candidates.into_iter().enumerate() {
            let Some(shown) = DivergingCase::with_shared_symptom(symptom, evaluated) else { continue };
            // the smallest case is confirmed in fresh workers anyway
            if ends_workers(symptom) {
                return Ok(Some((place, shown)));
            }
            if steadiness.is_expected() && deepest(symptom) == Stage::Execute {
                return Ok(Some((place, shown)));
            }
            let again = self.again(&shown)?;
            let recurs = shown.symptom.recurring_in(&again).is_some();
            steadiness.record(recurs);
            if recurs {
                let whole = DivergingCase::with_shared_symptom(symptom, again);
                return Ok(Some((place, whole.unwrap_or(shown))));
            }
        }
        Ok(None)
    }

    /// Runs candidates at the same time, each in a worker of its own, up to the stage in which the symptom shows: parsing needs
    /// no engine. The results are in the order of the candidates.
    pub(crate) fn run_warm(
        &self,
        purpose: Purpose,
        candidates: Vec<Case>,
        symptom: &Symptom,
    ) -> Result<Vec<Evaluated>, TriageError> {
        self.run_until(deepest(symptom), purpose, candidates, symptom)
    }

    /// Runs candidates up to this stage.
    fn run_until(
        &self,
        until: Stage,
        purpose: Purpose,
        candidates: Vec<Case>,
        symptom: &Symptom,
    ) -> Result<Vec<Evaluated>, TriageError> {
        self.cancellation.count(purpose, candidates.len());
        let run = |candidate: Case| {
            let encoded = EncodedCase::encode(candidate)?;
            let references = references(&encoded, self.oracle, self.workers.info().description.arithmetic);
            let task = encoded.task.clone().until(until);
            let observation = if ends_workers(symptom) {
                self.workers.observe_warm_once(&task)?
            } else {
                self.workers.observe_warm(&task)?
            };
            Ok(Evaluated::new(self.workers.info(), encoded, references, observation))
        };
        thread::scope(|scope| {
            let run = &run;
            let running: Vec<_> =
                candidates.into_iter().map(|candidate| scope.spawn(move || run(candidate))).collect();
            running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked()))).collect()
        })
    }
}

/// The case of `smaller` as it runs in a fresh worker; `None` if it does not show the symptom there.
pub fn confirm_smaller(
    smaller: &DivergingCase,
    workers: &TriageWorkers,
) -> Result<Option<DivergingCase>, TriageError> {
    let fresh = run_fresh(&smaller.evaluated, workers)?;
    Ok(DivergingCase::with_shared_symptom(&smaller.symptom, fresh))
}

/// A case as it runs in a fresh worker.
fn run_fresh(case: &Evaluated, workers: &TriageWorkers) -> Result<Evaluated, TriageError> {
    let observation = workers.observe_fresh(&case.encoded.task)?;
    Ok(case.with(workers.confirming_info(), observation))
}

/// Whether each case that shows the symptom costs a worker.
pub const fn ends_workers(symptom: &Symptom) -> bool {
    matches!(symptom.kind(), Kind::Hang | Kind::Crash)
}

/// The stage up to which a candidate must run to show a symptom.
fn deepest(symptom: &Symptom) -> Stage {
    if symptom.stage() == Stage::Parse { Stage::Parse } else { Stage::Execute }
}

/// A reducer that proposes at most `limit` candidates, fewer if the symptom makes each of them expensive for `backend`.
fn reducer(diverging: &DivergingCase, backend: &BackendName, limit: usize) -> Result<Reducer, TriageError> {
    let limit = match diverging.symptom.kind() {
        Kind::Hang => limit.min(MAX_HANGS),
        Kind::Crash if backend.loads_cuda_runtime() => limit.min(MAX_CRASHES),
        _ => limit,
    };
    let failed = |reason: twinfer_case::OversizedRecipe| TriageError::Supervisor(reason.to_string());
    Reducer::new(&diverging.evaluated.encoded.case, limit).map_err(failed)
}

fn panicked() -> TriageError {
    TriageError::Supervisor("a thread that runs a candidate panicked".to_owned())
}
