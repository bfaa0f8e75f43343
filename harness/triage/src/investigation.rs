//! An *investigation* finds out what a suspect is: it makes the case smaller and, unless an earlier suspect reached the same
//! finding, confirms the smaller case in fresh workers. An investigation depends on its suspect alone, so any number of them
//! run at the same time.

use std::sync::Arc;

use twinfer_case::{EncodedCase, Kind};
use twinfer_checks::{Evaluated, Oracle};
use twinfer_workers::TriageWorkers;

use crate::{
    CaseSource, TriageError,
    cancellation::Cancellation,
    classes::classes,
    diverging_case::DivergingCase,
    identity::Identity,
    reduction::{Reduction, confirm_smaller},
    suspect::Suspect,
    triage_result::{Confirmed, Reduced, TriageOutcome},
};

/// Fresh workers that a confirmation takes.
const FRESH_WORKERS: usize = 1;

/// Investigates suspects, any number of them at the same time.
#[derive(Clone, Copy)]
pub struct Investigator<'a> {
    oracle: &'a Oracle,
    source: &'a CaseSource,
    minimize: bool,
}

/// How a divergence recurs.
enum Recurrence {
    /// In a worker that has run no other case.
    Fresh(DivergingCase),
    /// In a worker that has run these cases, and not in a fresh one.
    AfterOthers(DivergingCase, Vec<Arc<EncodedCase>>),
    /// Neither in a fresh worker nor after the cases that ran before.
    Never,
}

impl<'a> Investigator<'a> {
    /// An investigator that judges by `oracle`, takes preceding cases from `source`, and minimizes cases if `minimize`.
    pub const fn new(oracle: &'a Oracle, source: &'a CaseSource, minimize: bool) -> Self {
        Self { oracle, source, minimize }
    }

    /// Finds out what `suspect` shows or, given a finding that it is known to show, which other bug is hidden behind that
    /// finding. A minimal case that `is_reached` recognizes is not confirmed. `None` if the investigation was canceled.
    pub fn investigate(
        self,
        workers: &TriageWorkers,
        suspect: &Suspect,
        hidden_behind: Option<&Identity>,
        is_reached: impl FnOnce(&Identity) -> bool,
        cancellation: &Cancellation,
    ) -> Result<Option<TriageOutcome>, TriageError> {
        let requested = hidden_behind.is_none().then(|| workers.request_fresh(FRESH_WORKERS));
        let reduced = self.reduce(workers, suspect, hidden_behind, cancellation)?;
        if cancellation.is_canceled() {
            return Ok(None);
        }
        let Some(reduced) = reduced else { return Ok(Some(TriageOutcome::Nothing)) };
        if is_reached(&reduced.identity) {
            return Ok(Some(TriageOutcome::Reduced(reduced)));
        }
        // the confirmation takes the worker that was requested
        drop(requested);
        let confirmed = self.confirm(workers, suspect, &reduced)?;
        Ok(Some(TriageOutcome::Confirmed(reduced, Box::new(confirmed))))
    }

    /// The smallest case that shows the symptom of `suspect` in warm workers; the case of `suspect` if its symptom does not
    /// recur there. `None` if nothing is hidden behind the known finding.
    fn reduce(
        self,
        workers: &TriageWorkers,
        suspect: &Suspect,
        hidden_behind: Option<&Identity>,
        cancellation: &Cancellation,
    ) -> Result<Option<Reduced>, TriageError> {
        let mut smallest = self.diverging(suspect)?;
        let reduction = Reduction { workers, oracle: self.oracle, cancellation };
        if let Some(known) = hidden_behind {
            match reduction.look_behind(&smallest, known)? {
                Some(other) => smallest = other,
                None => return Ok(None),
            }
        }
        let mut events = Vec::new();
        if self.minimize && (hidden_behind.is_some() || reduction.recurs(&smallest)?) {
            smallest = reduction.reduce(&smallest, &mut |event| events.push(event.clone()))?;
        }
        let encoded = &smallest.evaluated.encoded;
        let signature = smallest.symptom.signature(workers.info(), encoded);
        let identity = Identity { signature, classes: classes(&encoded.case) };
        Ok(Some(Reduced { smallest, identity, events, is_minimal: !cancellation.is_timed_out() }))
    }

    /// Confirms in a fresh worker the case to which `suspect` was reduced; if the symptom does not recur there, the case of
    /// `suspect` itself.
    pub fn confirm(
        self,
        workers: &TriageWorkers,
        suspect: &Suspect,
        reduced: &Reduced,
    ) -> Result<Confirmed, TriageError> {
        let original = self.diverging(suspect)?;
        let smaller = &reduced.smallest;
        let is_smaller = smaller.evaluated.encoded.task.hash != suspect.case;
        if is_smaller && let Some(minimal) = confirm_smaller(smaller, workers)? {
            let divergences = suspect.divergences().to_vec();
            let confirmed = Confirmed::new(workers.info(), &original.evaluated, minimal, divergences);
            return Ok(confirmed.reduced_to(reduced));
        }
        self.confirm_original(workers, suspect, &original, reduced)
    }

    /// Confirms the case of `suspect` itself, whatever way it recurs.
    fn confirm_original(
        self,
        workers: &TriageWorkers,
        suspect: &Suspect,
        original: &DivergingCase,
        reduced: &Reduced,
    ) -> Result<Confirmed, TriageError> {
        let confirmed = |minimal: DivergingCase| {
            let divergences = minimal.evaluated.divergences().to_vec();
            Confirmed::new(workers.info(), &original.evaluated, minimal, divergences)
        };
        Ok(match self.run_again(workers, suspect, &original.evaluated)? {
            Recurrence::Fresh(fresh) => confirmed(fresh).reduced_to(reduced),
            Recurrence::AfterOthers(warm, history) => {
                let minimal = warm.reclassified(Kind::StateDependent, "only after other cases");
                confirmed(minimal).after(history)
            }
            Recurrence::Never => {
                let minimal = original.clone().reclassified(Kind::Nondeterministic, "did not recur");
                confirmed(minimal).not_recurring()
            }
        })
    }

    /// The case of `suspect` with its symptom, as it was judged.
    fn diverging(self, suspect: &Suspect) -> Result<DivergingCase, TriageError> {
        let evaluated = suspect.evaluated(self.source, self.oracle)?;
        Ok(DivergingCase { evaluated, symptom: suspect.symptom.clone() })
    }

    /// Runs the case of `suspect` in a fresh worker and, if the symptom does not recur there, after the cases that ran before.
    fn run_again(
        self,
        workers: &TriageWorkers,
        suspect: &Suspect,
        evaluated: &Evaluated,
    ) -> Result<Recurrence, TriageError> {
        let Suspect { symptom, preceding, .. } = suspect;
        let info = workers.info();
        let fresh = evaluated.with(info, workers.observe_fresh(&evaluated.encoded.task)?);
        if let Some(fresh) = DivergingCase::recurring(symptom, fresh) {
            return Ok(Recurrence::Fresh(fresh));
        }
        let history = preceding.iter().map(|index| EncodedCase::encode((self.source)(*index)));
        let history = history.collect::<Result<Vec<_>, _>>()?;
        let warm = workers.observe_after(&history, &evaluated.encoded)?;
        let warm = warm.map(|observation| evaluated.with(info, observation));
        Ok(match warm.and_then(|warm| DivergingCase::recurring(symptom, warm)) {
            Some(warm) => Recurrence::AfterOthers(warm, history),
            None => Recurrence::Never,
        })
    }
}
