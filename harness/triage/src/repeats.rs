//! The *repeats* of a diverging case: what it comes to in warm and fresh workers, and with memory filled with patterns.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    sync::Arc,
    thread,
};

use tracing::debug;
use twinfer_case::{
    Circumstance, EncodedCase, Kind, Observation, Outcome, PoisonPattern, RepeatedOutcome, VariantInfo,
};
use twinfer_checks::Evaluated;
use twinfer_workers::{RepeatedRun, TriageWorkers};

use crate::{
    TriageError,
    cancellation::Cancellation,
    diverging_case::DivergingCase,
    recurrence::{Recurrence, Repeat, classify},
    symptom::Symptom,
};

/// Runs in workers that have run a case before.
const WARM: usize = 5;
/// Runs in a worker that has run nothing; another one follows if runs differ. Each such worker may take long to start.
const FRESH: usize = 1;
/// Runs with each filling.
const FILLED: usize = 2;

/// Repeats a case.
pub struct Repeater<'a> {
    /// The workers that run the case.
    pub workers: &'a TriageWorkers,
    /// Ends the repeats early.
    pub cancellation: &'a Cancellation,
}

/// What a diverging case came to each time it ran.
pub struct Repeats {
    /// The kind of the divergence.
    kind: Kind,
    runs: Vec<(Circumstance, Evaluated)>,
}

impl Repeater<'_> {
    /// Repeats the case of `diverging`, which ran before as `given` says, until it has run ten times: five times warm, after `history` or after
    /// itself, once fresh, and twice with memory filled with each pattern; once more in another fresh worker if these runs differ. A case that
    /// ends its workers runs fresh in place of warm.
    ///
    /// Hangs take long, so a case that hangs in a fresh worker and with each filling is not repeated any more; nor is any case once the
    /// time limit has expired. `None` if the investigation was canceled.
    pub fn repeat(
        &self,
        diverging: &DivergingCase,
        history: &[Arc<EncodedCase>],
        given: Vec<(Circumstance, Evaluated)>,
    ) -> Result<Option<Repeats>, TriageError> {
        let case = &diverging.evaluated;
        let mut repeats = Repeats { kind: diverging.symptom.kind(), runs: given };
        let is_short = self.cancellation.is_timed_out();
        let is_once = is_short || repeats.kind == Kind::Hang;
        // without a history, the first run in a worker is a fresh one
        let first = usize::from(history.is_empty());
        let together = if is_once { 1 } else { WARM } + first;
        let fresh = FRESH.saturating_sub(first + repeats.count(Circumstance::Fresh));
        let filled = if is_once { 1 } else { FILLED };
        self.run_at_once(case, history, Times { together, fresh, filled }, &mut repeats)?;
        if self.cancellation.is_canceled() {
            return Ok(None);
        }
        if !is_short && !repeats.only_hang() {
            let unfilled = repeats.count(Circumstance::Warm) + repeats.count(Circumstance::Fresh);
            let missing = (WARM + FRESH).saturating_sub(unfilled);
            let runs = self.observe(case, None, &[], missing)?;
            self.add(case, None, runs, &mut repeats);
            self.run_filled(case, FILLED, &mut repeats)?;
            if !repeats.are_alike() {
                let hash = case.encoded.task.hash.to_string();
                debug!(
                    hash,
                    outcomes_agree = repeats.agree(),
                    "repeats differ, so another fresh worker runs the case"
                );
                let runs = self.observe(case, None, &[], 1)?;
                self.add(case, None, runs, &mut repeats);
            }
        }
        Ok(Some(repeats).filter(|_| !self.cancellation.is_canceled()))
    }

    /// The run that stands for an unstable case: one of its `repeats` that diverges as `first` did, or else `first`; with the
    /// variant of that run.
    pub fn unstable(&self, repeats: &Repeats, first: &DivergingCase) -> (&VariantInfo, DivergingCase) {
        match repeats.recurring(&first.symptom) {
            Some(recurring) => (self.workers.confirming_info(), recurring),
            None => (self.workers.info(), first.clone()),
        }
    }

    /// Runs the case without fillings and with each, all at once, since each worker may take long to start.
    fn run_at_once(
        &self,
        case: &Evaluated,
        history: &[Arc<EncodedCase>],
        times: Times,
        repeats: &mut Repeats,
    ) -> Result<(), TriageError> {
        let (together, fresh, filled) = thread::scope(|scope| {
            let together = scope.spawn(|| self.observe(case, None, history, times.together));
            let fresh = scope.spawn(|| self.observe(case, None, &[], times.fresh));
            let filled = PoisonPattern::ALL
                .map(|pattern| scope.spawn(move || self.observe_filled(case, pattern, times.filled)));
            (ended(together), ended(fresh), filled.map(ended))
        });
        self.add(case, None, together?, repeats);
        self.add(case, None, fresh?, repeats);
        let differ_by_chance = repeats.differ_under_equal_circumstances();
        let (mut warm, patterns) = (Vec::new(), PoisonPattern::ALL);
        for (pattern, runs) in patterns.into_iter().zip(filled) {
            let (in_warm, in_fresh): (Vec<_>, Vec<_>) = runs?.into_iter().partition(|run| run.is_warm);
            self.add(case, Some(pattern), in_fresh, repeats);
            warm.push((pattern, in_warm));
        }
        let without_warm = repeats.runs.len();
        for (pattern, runs) in warm {
            self.add(case, Some(pattern), runs, repeats);
        }
        if !repeats.agree() && !differ_by_chance {
            // what workers with memory filled have run before may matter
            repeats.runs.truncate(without_warm);
            self.run_filled(case, times.filled, repeats)?;
        }
        Ok(())
    }

    /// Runs the case in fresh workers, all at once, until it has run `times` times with each filling.
    fn run_filled(&self, case: &Evaluated, times: usize, repeats: &mut Repeats) -> Result<(), TriageError> {
        let missing = |pattern: PoisonPattern| times.saturating_sub(repeats.count(pattern.into()));
        let patterns = PoisonPattern::ALL.into_iter();
        let patterns = patterns.flat_map(|pattern| iter::repeat_n(pattern, missing(pattern)));
        let filled: Vec<_> = thread::scope(|scope| {
            let start = |pattern| (pattern, scope.spawn(move || self.observe(case, Some(pattern), &[], 1)));
            let running: Vec<_> = patterns.map(start).collect();
            running.into_iter().map(|(pattern, thread)| (pattern, ended(thread))).collect()
        });
        for (pattern, runs) in filled {
            self.add(case, Some(pattern), runs?, repeats);
        }
        Ok(())
    }

    /// Runs the case `times` times in a worker with memory filled, one that has run other cases if there is one.
    fn observe_filled(
        &self,
        case: &Evaluated,
        pattern: PoisonPattern,
        times: usize,
    ) -> Result<Vec<RepeatedRun>, TriageError> {
        if self.cancellation.is_canceled() {
            return Ok(Vec::new());
        }
        Ok(self.workers.repeat_filled(pattern, &case.encoded.task, times)?)
    }

    fn observe(
        &self,
        case: &Evaluated,
        filling: Option<PoisonPattern>,
        history: &[Arc<EncodedCase>],
        times: usize,
    ) -> Result<Vec<RepeatedRun>, TriageError> {
        if times == 0 || self.cancellation.is_canceled() {
            return Ok(Vec::new());
        }
        Ok(self.workers.repeat(filling, history, &case.encoded.task, times)?)
    }

    fn add(
        &self,
        case: &Evaluated,
        filling: Option<PoisonPattern>,
        runs: Vec<RepeatedRun>,
        repeats: &mut Repeats,
    ) {
        for RepeatedRun { observation, is_warm } in runs {
            let circumstance = match filling {
                Some(pattern) => pattern.into(),
                None if is_warm => Circumstance::Warm,
                None => Circumstance::Fresh,
            };
            repeats.add(self.workers.confirming_info(), case, circumstance, observation);
        }
    }
}

/// How often a case runs at once.
#[derive(Clone, Copy)]
struct Times {
    /// In one worker.
    together: usize,
    /// In fresh workers besides.
    fresh: usize,
    /// With each filling.
    filled: usize,
}

fn ended<T>(thread: thread::ScopedJoinHandle<'_, Result<T, TriageError>>) -> Result<T, TriageError> {
    let panicked = || TriageError::Supervisor("a thread that repeats a case panicked".to_owned());
    thread.join().unwrap_or_else(|_| Err(panicked()))
}

impl Repeats {
    /// No repeats yet of a case that diverges as `kind`.
    pub(crate) const fn none(kind: Kind) -> Self {
        Self { kind, runs: Vec::new() }
    }

    /// Adds a run.
    pub(crate) fn push(&mut self, circumstance: Circumstance, evaluated: Evaluated) {
        self.runs.push((circumstance, evaluated));
    }

    /// How the divergence recurs.
    pub fn recurrence(&self) -> Recurrence {
        let runs: Vec<_> = self.runs.iter().enumerate().map(|(place, run)| self.repeat(place, run)).collect();
        classify(self.kind, &runs)
    }

    /// The outcomes with how often each came, sorted.
    pub fn outcomes(&self) -> Vec<RepeatedOutcome> {
        RepeatedOutcome::count(
            self.runs.iter().map(|(circumstance, evaluated)| (*circumstance, evaluated.outcome())),
        )
    }

    /// `diverging` as what its repeats show it to be.
    pub fn settle(&self, diverging: DivergingCase) -> DivergingCase {
        match self.recurrence().reclassifies(diverging.symptom.kind()) {
            Some((kind, how)) => diverging.reclassified(kind, how),
            None => diverging,
        }
    }

    /// The first run, with memory not filled, in which the divergence is of the kind of `symptom`; `None` if there is none.
    pub fn recurring(&self, symptom: &Symptom) -> Option<DivergingCase> {
        let is_unfilled =
            |circumstance: Circumstance| matches!(circumstance, Circumstance::Warm | Circumstance::Fresh);
        let mut unfilled = self.runs.iter().filter(|(circumstance, _)| is_unfilled(*circumstance));
        unfilled.find_map(|(_, run)| DivergingCase::recurring(symptom, run.clone()))
    }

    /// The case as it ran in a warm worker, if the outcome depends on that and is of the kind of `symptom` there.
    pub fn recurring_warm(&self, symptom: &Symptom) -> Option<DivergingCase> {
        if self.recurrence() != Recurrence::StateDependent {
            return None;
        }
        let (_, warm) = self.runs.iter().find(|(circumstance, _)| *circumstance == Circumstance::Warm)?;
        DivergingCase::recurring(symptom, warm.clone())
    }

    fn add(
        &mut self,
        info: &VariantInfo,
        case: &Evaluated,
        circumstance: Circumstance,
        observation: Observation,
    ) {
        let is_repeat = |(circumstance, _): &&(Circumstance, _)| *circumstance != Circumstance::Campaign;
        let mut earlier = self.runs.iter().filter(is_repeat).map(|(_, run)| run);
        // what was judged is not judged again
        let evaluated = match earlier.find(|run| is_same(&run.observation, &observation)) {
            Some(same) => Evaluated { observation, ..same.clone() },
            None => case.with(info, observation),
        };
        self.runs.push((circumstance, evaluated));
    }

    /// The case as it ran in a worker that has run nothing; `None` if it has not.
    pub fn fresh(&self) -> Option<&Evaluated> {
        let is_fresh = |(circumstance, _): &&(Circumstance, _)| *circumstance == Circumstance::Fresh;
        self.runs.iter().find(is_fresh).map(|(_, run)| run)
    }

    /// Adds how the case ran in the campaign, before its repeats.
    #[must_use]
    pub fn after_campaign(mut self, evaluated: &Evaluated) -> Self {
        self.runs.insert(0, (Circumstance::Campaign, evaluated.clone()));
        self
    }

    /// Whether all runs so far came to one outcome.
    fn agree(&self) -> bool {
        let outcomes: BTreeSet<_> = self.runs.iter().map(|(_, run)| run.outcome()).collect();
        outcomes.len() <= 1
    }

    /// Whether all runs so far came to one outcome, with the same values where output buffers held the same.
    fn are_alike(&self) -> bool {
        let filling = |run: &Evaluated| run.observation.output_filling;
        self.agree()
            && self.runs.iter().all(|(_, run)| {
                let mut filled_alike = self.runs.iter().filter(|(_, other)| filling(other) == filling(run));
                filled_alike.next().is_some_and(|(_, first)| run.has_values_of(first))
            })
    }

    /// Whether runs under the same circumstances came to different outcomes, so that no circumstance explains the difference.
    fn differ_under_equal_circumstances(&self) -> bool {
        let mut outcomes = BTreeMap::new();
        self.runs.iter().any(|(circumstance, run)| {
            let outcome = run.outcome();
            *outcomes.entry(*circumstance).or_insert_with(|| outcome.clone()) != outcome
        })
    }

    fn count(&self, circumstance: Circumstance) -> usize {
        self.runs.iter().filter(|(other, _)| *other == circumstance).count()
    }

    /// Whether every run but that of the campaign hung.
    fn only_hang(&self) -> bool {
        let mut repeats =
            self.runs.iter().filter(|(circumstance, _)| *circumstance != Circumstance::Campaign);
        repeats.all(|(_, run)| run.observation.outcome == Outcome::TimedOut)
    }

    fn repeat(&self, place: usize, (circumstance, evaluated): &(Circumstance, Evaluated)) -> Repeat {
        let outcome = evaluated.outcome();
        let mut earlier = self.runs[..place].iter();
        let like =
            earlier.position(|(_, earlier)| earlier.outcome() == outcome && evaluated.has_values_of(earlier));
        let diagnosis = evaluated.divergences().iter().find_map(|divergence| divergence.diagnosis.as_ref());
        let mutants = diagnosis.into_iter().flat_map(twinfer_case::Diagnosis::mutant_names);
        Repeat {
            circumstance: *circumstance,
            outcome,
            mutants: mutants.map(str::to_owned).collect(),
            like: like.unwrap_or(place),
        }
    }
}

/// Whether two observations differ at most in their timings.
fn is_same(one: &Observation, other: &Observation) -> bool {
    let Observation {
        stage,
        outcome,
        inferred_shapes,
        runs,
        precision,
        algorithms,
        log,
        timings: _,
        out_of_bounds,
        output_filling,
    } = one;
    *stage == other.stage
        && *outcome == other.outcome
        && *inferred_shapes == other.inferred_shapes
        && *runs == other.runs
        && *precision == other.precision
        && *algorithms == other.algorithms
        && *log == other.log
        && *out_of_bounds == other.out_of_bounds
        && *output_filling == other.output_filling
}

#[cfg(test)]
mod tests {
    use twinfer_case::{MemoryKind, OutOfBoundsWrite, Stage, Timing};

    use super::*;

    #[test]
    fn an_observation_that_wrote_out_of_bounds_is_another_one() {
        let clean = Observation::new(Stage::Execute, Outcome::Ok);
        let mut later = clean.clone();
        later.timings.push(Timing { stage: Stage::Execute, micros: 9 });
        assert!(is_same(&clean, &later));
        let (stage, memory) = (Stage::Execute, MemoryKind::Device);
        later.out_of_bounds.push(OutOfBoundsWrite { stage, memory, bytes: 4, offset: 4 });
        assert!(!is_same(&clean, &later));
    }
}
