//! The *repeats* of a diverging case: what it comes to in warm and fresh workers, and with memory filled with patterns.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    sync::Arc,
    thread,
};

use twinfer_case::{
    CaseOutcome, Circumstance, EncodedCase, Kind, Observation, Outcome, PoisonPattern, RepeatedOutcome,
    VariantInfo,
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
const WARM: usize = 4;
/// Runs in workers that have run nothing.
const FRESH: usize = 2;
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
    /// Repeats the case of `diverging`, which ran before as `given` says, until it has run ten times: four times warm, after `history` or after
    /// itself, twice fresh, and twice with memory filled with each pattern. A case that ends its workers runs fresh in place of
    /// warm.
    ///
    /// Hangs take long, so a case that hangs in a fresh worker, in another one and with each filling is not repeated any more;
    /// nor is any case once the time limit has expired. `None` if the investigation was canceled.
    pub fn repeat(
        &self,
        diverging: &DivergingCase,
        history: &[Arc<EncodedCase>],
        given: Vec<(Circumstance, Evaluated)>,
    ) -> Result<Option<Repeats>, TriageError> {
        let case = &diverging.evaluated;
        let mut repeats = Repeats { kind: diverging.symptom.kind(), runs: given };
        let is_short = self.cancellation.is_timed_out();
        // without a history, the first run in a worker is a fresh one
        let fresh = if history.is_empty() {
            FRESH.saturating_sub(repeats.count(Circumstance::Fresh)).min(1)
        } else {
            0
        };
        let together = if is_short { 1 + fresh } else { WARM + fresh };
        self.run(case, history, together, &mut repeats)?;
        let is_once = is_short || repeats.kind == Kind::Hang;
        self.run_filled(case, if is_once { 1 } else { FILLED }, &mut repeats)?;
        if self.cancellation.is_canceled() {
            return Ok(None);
        }
        if !is_short && !repeats.only_hang() {
            let unfilled = repeats.count(Circumstance::Warm) + repeats.count(Circumstance::Fresh);
            let missing = (WARM + FRESH).saturating_sub(unfilled);
            self.run(case, &[], missing, &mut repeats)?;
            self.run_filled(case, if is_once { FILLED - 1 } else { 0 }, &mut repeats)?;
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

    /// Runs the case `times` times with each filling, all fillings at once. A worker runs it once, or every time if nothing hints that
    /// the outcome depends on what a worker has run.
    fn run_filled(&self, case: &Evaluated, times: usize, repeats: &mut Repeats) -> Result<(), TriageError> {
        let (workers, per_worker) = if repeats.agree() { (1, times) } else { (times, 1) };
        let started = PoisonPattern::ALL.into_iter().flat_map(|pattern| iter::repeat_n(pattern, workers));
        let filled = thread::scope(|scope| {
            let start =
                |pattern| (pattern, scope.spawn(move || self.observe(case, Some(pattern), &[], per_worker)));
            let running: Vec<_> = started.filter(|_| per_worker > 0).map(start).collect();
            let end = |(pattern, thread): (PoisonPattern, thread::ScopedJoinHandle<'_, _>)| {
                let runs = thread.join().unwrap_or_else(|_| Err(panicked()));
                Ok((pattern, runs?))
            };
            running.into_iter().map(end).collect::<Result<Vec<_>, TriageError>>()
        })?;
        for (pattern, runs) in filled {
            for RepeatedRun { observation, .. } in runs {
                repeats.add(self.workers.confirming_info(), case, pattern.into(), observation);
            }
        }
        Ok(())
    }

    /// Runs the case `times` times in one worker that has run `history`.
    fn run(
        &self,
        case: &Evaluated,
        history: &[Arc<EncodedCase>],
        times: usize,
        repeats: &mut Repeats,
    ) -> Result<(), TriageError> {
        for RepeatedRun { observation, is_warm } in self.observe(case, None, history, times)? {
            let circumstance = if is_warm { Circumstance::Warm } else { Circumstance::Fresh };
            repeats.add(self.workers.confirming_info(), case, circumstance, observation);
        }
        Ok(())
    }

    fn observe(
        &self,
        case: &Evaluated,
        filling: Option<PoisonPattern>,
        history: &[Arc<EncodedCase>],
        times: usize,
    ) -> Result<Vec<RepeatedRun>, TriageError> {
        if self.cancellation.is_canceled() {
            return Ok(Vec::new());
        }
        Ok(self.workers.repeat(filling, history, &case.encoded.task, times)?)
    }
}

fn panicked() -> TriageError {
    TriageError::Supervisor("a thread that repeats a case panicked".to_owned())
}

impl Repeats {
    /// How the divergence recurs.
    pub fn recurrence(&self) -> Recurrence {
        let runs: Vec<_> = self.runs.iter().enumerate().map(|(place, run)| self.repeat(place, run)).collect();
        classify(self.kind, &runs)
    }

    /// The outcomes with how often each came, sorted.
    pub fn outcomes(&self) -> Vec<RepeatedOutcome> {
        let mut counted: BTreeMap<CaseOutcome, BTreeMap<Circumstance, u32>> = BTreeMap::new();
        for (circumstance, evaluated) in &self.runs {
            *counted.entry(evaluated.outcome()).or_default().entry(*circumstance).or_default() += 1;
        }
        counted.into_iter().map(|(outcome, times)| RepeatedOutcome { outcome, times }).collect()
    }

    /// `diverging` as what its repeats show it to be.
    pub fn settle(&self, diverging: DivergingCase) -> DivergingCase {
        let compares_runs = matches!(diverging.symptom.kind(), Kind::Nondeterministic | Kind::StateDependent);
        match self.recurrence() {
            Recurrence::Unstable => diverging.reclassified(Kind::Unstable, "one of several outcomes"),
            Recurrence::Stable | Recurrence::UnwrittenOutput => diverging,
            _ if compares_runs => diverging,
            Recurrence::StateDependent => {
                diverging.reclassified(Kind::StateDependent, "not in a worker that has run the case before")
            }
            Recurrence::Nondeterministic => {
                diverging.reclassified(Kind::Nondeterministic, "values differ from run to run")
            }
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

    /// Whether all runs so far came to one outcome.
    fn agree(&self) -> bool {
        let outcomes: BTreeSet<_> = self.runs.iter().map(|(_, run)| run.outcome()).collect();
        outcomes.len() <= 1
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
    one.stage == other.stage
        && one.outcome == other.outcome
        && one.inferred_shapes == other.inferred_shapes
        && one.runs == other.runs
        && one.precision == other.precision
        && one.log == other.log
}
