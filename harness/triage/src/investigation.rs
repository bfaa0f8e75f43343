//! An *investigation* finds out what a suspect is: it makes the case smaller and, unless an earlier suspect reached the same
//! finding, confirms the smaller case in fresh workers. An investigation depends on its suspect alone, so any number of them
//! run at the same time.

use std::sync::Arc;

use twinfer_case::{
    BackendName, Circumstance, Divergence, EncodedCase, Finding, Kind, Stage, Variant, VariantInfo,
};
use twinfer_checks::{Evaluated, Oracle};
use twinfer_workers::TriageWorkers;

use crate::{
    CaseSource, TriageError,
    cancellation::Cancellation,
    culprit,
    diverging_case::DivergingCase,
    identity::Identity,
    neighbors::Neighbors,
    recurrence::Recurrence,
    reduction::Reduction,
    repeats::{Repeater, Repeats},
    runs_apart::{AFTER_OTHER_RUNS, depends_on_earlier_runs},
    study::Experiments,
    suspect::Suspect,
    symptom::Symptom,
    triage_result::{Confirmed, Reduced, TriageOutcome},
};

/// Fresh workers that the repeats of a case take, unless they differ.
const FRESH_WORKERS: usize = 1;

/// Investigates suspects, any number of them at the same time.
#[derive(Clone, Copy)]
pub struct Investigator<'a> {
    oracle: &'a Oracle,
    source: &'a CaseSource,
    minimize: bool,
    neighbors: Option<&'a Neighbors>,
}

/// How a divergence recurs when its case runs again.
enum Recurred {
    /// In a worker that has run no other case.
    Fresh(Box<DivergingCase>),
    /// In a worker that has run these cases, and not in a fresh one.
    AfterOthers(Box<DivergingCase>, Vec<Arc<EncodedCase>>),
    /// Neither in a fresh worker nor after the cases that ran before.
    Never,
}

/// Whether the smaller case of a suspect is a finding.
enum Confirmation {
    Recurring(Box<Confirmed>),
    NotRecurring,
    Canceled,
}

impl<'a> Investigator<'a> {
    /// An investigator that judges by `oracle`, takes preceding cases from `source`, and minimizes cases if `minimize`.
    pub const fn new(oracle: &'a Oracle, source: &'a CaseSource, minimize: bool) -> Self {
        Self { oracle, source, minimize, neighbors: None }
    }

    /// The same investigator, which makes experiments on these cases, or none.
    #[must_use]
    pub const fn with_neighbors(self, neighbors: Option<&'a Neighbors>) -> Self {
        Self { neighbors, ..self }
    }

    /// Finds out what `suspect` shows or, given a finding that it is known to show, which other bug is hidden behind that
    /// finding. A minimal case that `is_reached` recognizes is not confirmed. `None` if the investigation was canceled.
    pub fn investigate(
        self,
        workers: &TriageWorkers,
        suspect: &Suspect,
        hidden_behind: Option<&Identity>,
        is_reached: impl Fn(&Reduced) -> bool,
        cancellation: &Cancellation,
    ) -> Result<Option<TriageOutcome>, TriageError> {
        let requested = hidden_behind.is_none().then(|| workers.request_repeats(FRESH_WORKERS));
        let reduced = self.reduce(workers, suspect, hidden_behind, cancellation)?;
        if cancellation.is_canceled() {
            return Ok(None);
        }
        let Some(reduced) = reduced else { return Ok(Some(TriageOutcome::Nothing)) };
        if is_reached(&reduced) {
            return Ok(Some(TriageOutcome::Reduced(reduced)));
        }
        let Some(studied) = self.study(workers, reduced, cancellation)? else { return Ok(None) };
        if is_reached(&studied) {
            return Ok(Some(TriageOutcome::Reduced(studied)));
        }
        // the repeats take the workers that were requested
        drop(requested);
        self.confirm(workers, suspect, studied, cancellation)
    }

    /// What experiments show of a minimal case. One that was minimized with explanations which experiments refute is minimized further
    /// first. `None` if the investigation was canceled.
    fn study(
        self,
        workers: &TriageWorkers,
        mut reduced: Reduced,
        cancellation: &Cancellation,
    ) -> Result<Option<Reduced>, TriageError> {
        let reduction = &Reduction { workers, oracle: self.oracle, cancellation };
        let Some(experiments) =
            self.experiments(reduction, &reduced.smallest.symptom).filter(|_| !reduced.is_studied)
        else {
            return Ok(Some(reduced));
        };
        let info = workers.info();
        let refuted = experiments.doubt(&reduced.smallest)?;
        if let Some(smaller) = self.reduce_further(reduction, &reduced, &refuted)? {
            reduced = smaller;
        }
        let first = experiments.study(&reduced.smallest)?;
        reduced = match self.reduce_further(reduction, &reduced, &first.refuted)? {
            Some(smaller) => {
                let study = experiments.study(&smaller.smallest)?;
                smaller.studied(study, info)
            }
            None => reduced.studied(first, info),
        };
        Ok((!cancellation.is_canceled()).then_some(reduced))
    }

    /// A case smaller than `reduced` if experiments refute every mutant that explains it: what it kept for their sake is not needed.
    /// `None` if an explanation is left or there was none, and if no smaller case shows the symptom.
    fn reduce_further(
        self,
        reduction: &Reduction<'_>,
        reduced: &Reduced,
        refuted: &[String],
    ) -> Result<Option<Reduced>, TriageError> {
        let symptom = &reduced.smallest.symptom;
        let is_refuted = |mutant| refuted.contains(mutant);
        if !self.minimize || symptom.diagnosis().is_empty() || !symptom.diagnosis().iter().all(is_refuted) {
            return Ok(None);
        }
        let known = symptom.clone().without(refuted).refuted().to_vec();
        let unexplained = reduced.smallest.clone().without_explanations();
        let mut events = reduced.events.clone();
        let smallest = reduction.reduce(&unexplained, &mut |event| events.push(event.clone()))?;
        if smallest.is_case_of(&unexplained) || !is_steady(reduction, &smallest)? {
            return Ok(None);
        }
        let symptom = smallest.symptom.clone().with_explanations(&smallest.evaluated).without(&known);
        let smallest = DivergingCase { symptom, ..smallest };
        let is_minimal = !reduction.cancellation.is_timed_out();
        let smaller = Reduced::new(smallest, reduction.workers.info(), events, is_minimal);
        Ok(Some(Reduced { minimal: reduced.minimal, ..smaller }))
    }

    /// Experiments, if there is something to experiment with. They look for the trigger unless each case takes too long.
    fn experiments<'b>(self, reduction: &'b Reduction<'b>, symptom: &Symptom) -> Option<Experiments<'b>>
    where
        'a: 'b,
    {
        let backend = &reduction.workers.info().variant.backend;
        let neighbors = self.neighbors?;
        let has_time = has_time_for_triggers(backend, symptom.stage());
        Some(Experiments { reduction, neighbors: has_time.then_some(neighbors) })
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
        let mut smallest = self.diverging(workers, suspect)?;
        if smallest.symptom.is_inside() {
            // a smaller case has other segments
            let whole = Reduced::new(smallest, workers.info(), Vec::new(), true).not_to_study();
            return Ok(Some(whole).filter(|_| hidden_behind.is_none()));
        }
        let reduction = Reduction { workers, oracle: self.oracle, cancellation };
        if let Some(known) = hidden_behind {
            match reduction.look_behind(&smallest, known)? {
                Some(other) => smallest = other,
                None => return Ok(None),
            }
        }
        let experiments = self.experiments(&reduction, &smallest.symptom);
        if let Some(experiments) = &experiments {
            smallest.symptom = smallest.symptom.clone().without(&experiments.doubt(&smallest)?);
        }
        let is_explained = experiments.is_none() || !smallest.symptom.diagnosis().is_empty();
        if !is_explained {
            smallest = smallest.without_explanations();
        }
        let mut events = Vec::new();
        let again = match hidden_behind {
            Some(_) => Some(smallest.symptom.clone()),
            None => reduction.seen_again(&smallest)?,
        };
        let recurs = again.is_some();
        smallest.symptom = again.unwrap_or(smallest.symptom);
        if self.minimize && recurs {
            smallest = reduction.reduce(&smallest, &mut |event| events.push(event.clone()))?;
        }
        // what came and went while candidates ran is nothing to experiment with
        let is_steady = recurs && experiments.is_some() && is_steady(&reduction, &smallest)?;
        if is_steady {
            // what explains a minimal case is found out with that case alone, so that it is the same whoever runs it
            smallest.symptom = smallest.symptom.with_explanations(&smallest.evaluated);
        }
        let is_minimal = !cancellation.is_timed_out();
        let reduced = Reduced::new(smallest, workers.info(), events, is_minimal);
        Ok(Some(if is_steady { reduced } else { reduced.not_to_study() }))
    }

    /// Confirms in a fresh worker the case to which `suspect` was reduced; if the symptom does not recur there, the case of
    /// `suspect` itself. Experiments are made first if there were none. Repeats show whether what is confirmed is stable. `None` if the
    /// investigation was canceled.
    pub fn confirm(
        self,
        workers: &TriageWorkers,
        suspect: &Suspect,
        reduced: Reduced,
        cancellation: &Cancellation,
    ) -> Result<Option<TriageOutcome>, TriageError> {
        let Some(reduced) = self.study(workers, reduced, cancellation)? else { return Ok(None) };
        let confirmed = self.confirm_case(workers, suspect, &reduced, cancellation)?;
        let confirmed = confirmed.map(|confirmed| culprit::add(confirmed, suspect, workers)).transpose()?;
        Ok(confirmed.map(|confirmed| TriageOutcome::Confirmed(reduced, Box::new(confirmed))))
    }

    fn confirm_case(
        self,
        workers: &TriageWorkers,
        suspect: &Suspect,
        reduced: &Reduced,
        cancellation: &Cancellation,
    ) -> Result<Option<Confirmed>, TriageError> {
        let repeater = Repeater { workers, cancellation };
        let mut original = self.diverging(workers, suspect)?;
        if reduced.is_of(suspect) {
            original.symptom = reduced.smallest.symptom.clone();
        } else {
            match self.confirm_reduced(&repeater, suspect, &original, reduced)? {
                Confirmation::NotRecurring => {}
                Confirmation::Canceled => return Ok(None),
                Confirmation::Recurring(confirmed) => {
                    return if has_drifted(reduced, &confirmed) {
                        self.confirm_steady(&repeater, suspect, original, reduced, *confirmed)
                    } else {
                        Ok(Some(*confirmed))
                    };
                }
            }
        }
        self.confirm_original(&repeater, suspect, &original, reduced)
    }

    /// Confirms the smaller case to which `original` was reduced: it recurs in a fresh worker, or it is unstable.
    fn confirm_reduced(
        self,
        repeater: &Repeater<'_>,
        suspect: &Suspect,
        original: &DivergingCase,
        reduced: &Reduced,
    ) -> Result<Confirmation, TriageError> {
        let smaller = &reduced.smallest;
        let Some(repeats) = repeater.repeat(smaller, &[], Vec::new())? else {
            return Ok(Confirmation::Canceled);
        };
        let fresh = repeats.fresh();
        let confirmed =
            fresh.map(|fresh| shown_in_fresh(repeater.workers, original, smaller, fresh)).transpose()?;
        let confirmed = confirmed.flatten();
        let repeats = if confirmed.is_some() { repeats } else { repeats.after_campaign(&smaller.evaluated) };
        let (info, minimal) = match (confirmed, repeats.recurrence()) {
            (Some(minimal), _) => (repeater.workers.confirming_info(), minimal),
            (None, Recurrence::Unstable) => repeater.unstable(&repeats, smaller),
            (None, _) => return Ok(Confirmation::NotRecurring),
        };
        let divergences = suspect.divergences().to_vec();
        let minimal = self.settled(repeater, &repeats, minimal)?;
        let confirmed = Confirmed::new(info, &original.evaluated, minimal, divergences);
        Ok(Confirmation::Recurring(Box::new(
            confirmed.reduced_to(reduced).studied_as(reduced).repeated(&repeats),
        )))
    }

    /// Confirms `original` if it is steady, where the `smaller` case to which it was reduced is not; that one otherwise. `None` if the investigation
    /// was canceled.
    fn confirm_steady(
        self,
        repeater: &Repeater<'_>,
        suspect: &Suspect,
        mut original: DivergingCase,
        reduced: &Reduced,
        smaller: Confirmed,
    ) -> Result<Option<Confirmed>, TriageError> {
        original.symptom = original.symptom.without(reduced.smallest.symptom.refuted());
        let whole = self.confirm_original(repeater, suspect, &original, reduced)?;
        let is_steady = |finding: &Finding| !finding.kind.varies() && !finding.diagnosis.is_empty();
        Ok(whole.map(|whole| if whole.recurs && is_steady(&whole.finding) { whole } else { smaller }))
    }

    /// `diverging` as what its repeats show it to be, and its runs apart.
    fn settled(
        self,
        repeater: &Repeater<'_>,
        repeats: &Repeats,
        diverging: DivergingCase,
    ) -> Result<DivergingCase, TriageError> {
        let settled = repeats.settle(diverging);
        let Repeater { workers, cancellation } = *repeater;
        let reduction = Reduction { workers, oracle: self.oracle, cancellation };
        let may_depend = repeats.recurrence() == Recurrence::Stable && !settled.symptom.is_inside();
        if may_depend && depends_on_earlier_runs(&reduction, &settled, repeats.fresh())? {
            return Ok(settled.reclassified(Kind::StateDependent, AFTER_OTHER_RUNS));
        }
        Ok(settled)
    }

    /// What `suspect` shows as far as it is known: its case, or what that was reduced to, as it ran in the campaign.
    pub fn unfinished(
        self,
        workers: &TriageWorkers,
        suspect: &Suspect,
        reduced: Option<&Reduced>,
    ) -> Result<Confirmed, TriageError> {
        let original = self.diverging(workers, suspect)?;
        let smallest = reduced.map_or_else(|| original.clone(), |reduced| reduced.smallest.clone());
        let divergences = suspect.divergences().to_vec();
        Ok(Confirmed::new(workers.info(), &original.evaluated, smallest, divergences).unfinished())
    }

    /// Confirms the case of `suspect` itself, whatever way it recurs; `None` if the investigation was canceled.
    fn confirm_original(
        self,
        repeater: &Repeater<'_>,
        suspect: &Suspect,
        original: &DivergingCase,
        reduced: &Reduced,
    ) -> Result<Option<Confirmed>, TriageError> {
        let workers = repeater.workers;
        let confirmed_in = |info: &VariantInfo, minimal: DivergingCase| {
            let divergences = divergences_of(suspect, &workers.info().variant, &minimal);
            Confirmed::new(info, &original.evaluated, minimal, divergences)
        };
        let confirmed = |minimal| confirmed_in(workers.confirming_info(), minimal);
        let repeats = if original.symptom.is_inside() {
            repeater.repeat_inside(original)?
        } else {
            repeater.repeat(original, &[], Vec::new())?
        };
        let Some(repeats) = repeats else { return Ok(None) };
        let recurred = self.recurred(workers, &suspect.preceding, original, repeats.fresh())?;
        let repeats = match &recurred {
            Recurred::Fresh(_) => repeats,
            Recurred::Never => repeats.after_campaign(&original.evaluated),
            Recurred::AfterOthers(_, history) => {
                let fresh = repeats.fresh().map(|fresh| (Circumstance::Fresh, fresh.clone()));
                let in_campaign = (Circumstance::Campaign, original.evaluated.clone());
                let given = [in_campaign].into_iter().chain(fresh).collect();
                let Some(repeats) = repeater.repeat(original, history, given)? else { return Ok(None) };
                repeats
            }
        };
        let is_unstable = repeats.recurrence() == Recurrence::Unstable;
        let confirmed = match recurred {
            Recurred::Fresh(fresh) => {
                let fresh = self.settled(repeater, &repeats, *fresh)?;
                let confirmed = confirmed(fresh).reduced_to(reduced);
                if reduced.is_of(suspect) { confirmed.studied_as(reduced) } else { confirmed }
            }
            Recurred::AfterOthers(warm, history) if is_unstable => {
                confirmed(repeats.settle(*warm)).after(history)
            }
            Recurred::AfterOthers(warm, history) => {
                let minimal = warm.reclassified(Kind::StateDependent, "only after other cases");
                confirmed(minimal).after(history)
            }
            Recurred::Never if is_unstable => {
                let (info, minimal) = repeater.unstable(&repeats, original);
                confirmed_in(info, repeats.settle(minimal))
            }
            Recurred::Never => {
                if let Some(warm) = repeats.recurring_warm(&original.symptom) {
                    let minimal = warm.reclassified(Kind::StateDependent, "only after the case itself");
                    confirmed(minimal).after(vec![Arc::clone(&original.evaluated.encoded)])
                } else {
                    let minimal = original.clone().reclassified(Kind::Nondeterministic, "did not recur");
                    confirmed(minimal).not_recurring()
                }
            }
        };
        Ok(Some(confirmed.repeated(&repeats)))
    }

    /// The case of `suspect` with its symptom, as it was judged.
    fn diverging(self, workers: &TriageWorkers, suspect: &Suspect) -> Result<DivergingCase, TriageError> {
        let evaluated = suspect.evaluated(workers.info(), self.source, self.oracle)?;
        Ok(DivergingCase { evaluated, symptom: suspect.symptom.clone() })
    }

    /// How the symptom of a case recurs: in the `fresh` run or, if it does not recur there, after the `preceding` cases.
    fn recurred(
        self,
        workers: &TriageWorkers,
        preceding: &[u64],
        DivergingCase { evaluated, symptom }: &DivergingCase,
        fresh: Option<&Evaluated>,
    ) -> Result<Recurred, TriageError> {
        if let Some(fresh) = fresh.and_then(|fresh| DivergingCase::recurring(symptom, fresh.clone())) {
            return Ok(Recurred::Fresh(Box::new(fresh)));
        }
        let history = preceding.iter().map(|index| EncodedCase::encode((self.source)(*index)));
        let history = history.collect::<Result<Vec<_>, _>>()?;
        let warm = workers.observe_after(&history, &evaluated.encoded)?;
        let warm = warm.map(|observation| evaluated.with(workers.confirming_info(), observation));
        Ok(match warm.and_then(|warm| DivergingCase::recurring(symptom, warm)) {
            Some(warm) => Recurred::AfterOthers(Box::new(warm), history),
            None => Recurred::Never,
        })
    }
}

/// Whether the reduction of a case that mutants explain ended at one that varies, which may be due to another bug.
fn has_drifted(reduced: &Reduced, confirmed: &Confirmed) -> bool {
    confirmed.finding.kind.varies() && !reduced.smallest.symptom.diagnosis().is_empty()
}

/// The `smaller` case to which `original` was reduced, as it ran `fresh`, if it shows the symptom there. Another check may fail in it than in
/// workers that have run other cases: the same one has to fail for `original` too.
fn shown_in_fresh(
    workers: &TriageWorkers,
    original: &DivergingCase,
    smaller: &DivergingCase,
    fresh: &Evaluated,
) -> Result<Option<DivergingCase>, TriageError> {
    let Some(shown) = smaller.symptom.recurring_in(fresh) else { return Ok(None) };
    if !smaller.symptom.fails_otherwise(&shown) {
        return Ok(DivergingCase::with_shared_symptom(&smaller.symptom, fresh.clone()));
    }
    let observation = workers.observe_fresh(&original.evaluated.encoded.task)?;
    let larger = original.evaluated.with(workers.confirming_info(), observation);
    let symptom = original.symptom.recurring_in(&larger);
    Ok(symptom.and_then(|symptom| DivergingCase::with_shared_symptom(&symptom, fresh.clone())))
}

/// Whether a case shows its symptom once more; a hang, which takes long, is not tried.
fn is_steady(reduction: &Reduction<'_>, diverging: &DivergingCase) -> Result<bool, TriageError> {
    Ok(diverging.symptom.kind() != Kind::Hang && reduction.recurs(diverging)?)
}

/// The divergences of `confirmed` as those of `variant`, which may have kept memory that its confirmation left untouched, with the segment that
/// is known to be to blame for `suspect`.
fn divergences_of(suspect: &Suspect, variant: &Variant, confirmed: &DivergingCase) -> Vec<Divergence> {
    let known = suspect.lead().and_then(|lead| lead.culprit.as_ref());
    let of_variant = |divergence: &Divergence| {
        let known = known.filter(|_| divergence.concerns_values()).cloned();
        let culprit = divergence.culprit.clone().or(known);
        Divergence { variant: variant.clone(), culprit, ..divergence.clone() }
    };
    confirmed.evaluated.divergences().iter().map(of_variant).collect()
}

/// Whether experiments may look for the trigger of what a backend shows in `stage`: not where each case takes long. On a backend that only
/// takes long to build, a case that shows the symptom while it is parsed does not.
fn has_time_for_triggers(backend: &BackendName, stage: Stage) -> bool {
    !(backend.builds_engines() || backend.is_slow() && stage != Stage::Parse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_are_looked_for_where_cases_are_quick() {
        let has_time = |backend: &str, stage| has_time_for_triggers(&backend.parse().unwrap(), stage);
        assert!(has_time("ort:cpu", Stage::Execute) && has_time("ort:cuda", Stage::Execute));
        assert!(has_time("trt-rtx", Stage::Parse) && has_time("openvino", Stage::Parse));
        assert!(!has_time("trt-rtx", Stage::Build) && !has_time("openvino", Stage::Execute));
        assert!(!has_time("trt", Stage::Parse) && !has_time("trt-api", Stage::Build));
    }
}
