//! *Minimizing* reduces one diverging case to the smallest that shows the same divergence.

use std::path::{Path, PathBuf};

use twinfer_case::{
    Case, Circumstance, Diagnosis, Divergence, Event, Finding, RepeatedOutcome, VariantRecord,
};
use twinfer_checks::{Evaluated, expected_outputs};
use twinfer_store::{Observed, write_finding};
use twinfer_triage::{
    Cancellation, DivergingCase, Neighbors, Reduction, Repeater, Scrutiny, Study, Symptom, Triageable, Whole,
    confirm_smaller, finding,
};
use twinfer_workers::TriageWorkers;

use crate::{TargetError, Targets};

/// The finding that a minimal case shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimal {
    /// The finding.
    pub finding: Finding,
    /// The folder to which the finding was written.
    pub folder: PathBuf,
    /// What explained the divergence before, if that is not among what explains the minimal case: `None` if it is.
    pub drifted_from: Option<Explained>,
}

/// What explains a divergence.
#[derive(Clone, Debug, PartialEq)]
pub enum Explained {
    /// Nothing.
    ByNothing,
    /// These mutants.
    By(Diagnosis),
}

/// The result of minimizing a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Minimization {
    /// A variant diverges: the minimal case.
    Minimal(Box<Minimal>),
    /// No variant diverges: the verdict on each.
    NoDivergence(Vec<VariantRecord>),
}

impl Targets {
    /// Minimizes the first of `cases` on which a variant diverges, for the first variant that does, experiments with cases chosen from
    /// `neighbors`, and writes the finding to a folder in `out`. Given a `known` finding, the divergence of that finding is followed if the
    /// case shows it, and the first divergence otherwise. If a segment explains wrong outputs better than the whole case does, it is minimized.
    pub fn minimize(
        &self,
        cases: &[Case],
        known: Option<&Finding>,
        neighbors: &Neighbors,
        out: &Path,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Minimization, TargetError> {
        let mut records = Vec::new();
        for workers in &self.variants {
            let Some((evaluated, start)) = self.diverging(workers, cases, known, &mut records)? else {
                continue;
            };
            let before = diagnosis(&start);
            let mut minimal = self.smallest(workers, start, sink)?;
            let Study { trigger, refuted, composed, .. } = self.study(workers, &minimal, neighbors)?;
            minimal.symptom = minimal.symptom.without(&refuted);
            let (minimal, outcomes) = repeated(workers, minimal)?;
            let finding = finding(workers.info(), &evaluated, &minimal, Vec::new());
            let mut finding = Finding { trigger, outcomes, ..finding };
            finding.explain_by(composed.as_ref());
            let folder = out.join(finding.signature.slug());
            let Evaluated { encoded, references, observation, .. } = &minimal.evaluated;
            let outputs = expected_outputs(references)?;
            let (info, library) = (workers.info(), self.libraries.of(&workers.info().variant));
            let observed = Observed { info, library, observation };
            write_finding(&folder, &finding, (encoded, &outputs), observed)?;
            let drifted_from = drift(before, &finding.diagnosis);
            return Ok(Minimization::Minimal(Box::new(Minimal { finding, folder, drifted_from })));
        }
        Ok(Minimization::NoDivergence(records))
    }

    /// The first of `cases` that diverges and can be reduced, and what of it is: the segment that [shows](Scrutiny) why, or the case itself, as
    /// for a `known` finding. `None` if there is none; `records` gets the verdicts on the cases before.
    fn diverging(
        &self,
        workers: &TriageWorkers,
        cases: &[Case],
        known: Option<&Finding>,
        records: &mut Vec<VariantRecord>,
    ) -> Result<Option<(Evaluated, DivergingCase)>, TargetError> {
        for case in cases {
            let whole = self.evaluate_fresh(workers, case)?;
            let mut scrutinized = whole.clone();
            let Triageable { whole: left, segments } = match known {
                Some(known) if !known.only_inside => Triageable::unexamined(),
                Some(_) | None => Scrutiny::Rounded.apply(workers, &mut scrutinized)?,
            };
            let reducible = match left {
                Whole::All => Some(whole.clone()),
                Whole::Rest | Whole::Unaccounted => {
                    self.first_that_recurs(workers, segments)?.or_else(|| Some(whole.clone()))
                }
                Whole::Inside => self.first_that_recurs(workers, segments)?,
            };
            let start = reducible.and_then(|evaluated| {
                symptom(&evaluated, known).map(|symptom| DivergingCase { evaluated, symptom })
            });
            if let Some(start) = start {
                return Ok(Some((whole, start)));
            }
            records.push(scrutinized.record(workers.info()));
        }
        Ok(None)
    }

    /// The first of `segments` that diverges in a fresh worker, too.
    fn first_that_recurs(
        &self,
        workers: &TriageWorkers,
        segments: Vec<Evaluated>,
    ) -> Result<Option<Evaluated>, TargetError> {
        for segment in segments {
            let fresh = self.evaluate_fresh(workers, &segment.encoded.case)?;
            if !fresh.divergences().is_empty() {
                return Ok(Some(fresh));
            }
        }
        Ok(None)
    }

    /// The smallest case that shows the symptom of `diverging`, or the wrong shape from which it follows, in fresh workers too.
    pub(crate) fn smallest(
        &self,
        workers: &TriageWorkers,
        diverging: DivergingCase,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<DivergingCase, TargetError> {
        let reduction = Reduction { workers, oracle: &self.oracle, cancellation: &Cancellation::default() };
        let smaller = reduction.reduce(&diverging, sink)?;
        Ok(confirm_smaller(&smaller, workers)?.unwrap_or(diverging))
    }
}

/// What explains the symptom of a case.
fn diagnosis(diverging: &DivergingCase) -> Option<Diagnosis> {
    let mutants = diverging.symptom.diagnosis();
    let diagnoses = diverging.evaluated.divergences().iter().filter_map(|one| one.diagnosis.as_ref());
    let mut narrowed = diagnoses.map(|diagnosis| diagnosis.clone().narrowed_to(mutants));
    narrowed.find(|diagnosis| !diagnosis.mutants.is_empty())
}

/// What explained a case `before`, if that is none of what explains the smaller one that it was reduced to.
fn drift(before: Option<Diagnosis>, after: &[String]) -> Option<Explained> {
    match before {
        Some(before) if !before.mutant_names().any(|name| after.iter().any(|other| other == name)) => {
            Some(Explained::By(before))
        }
        None if !after.is_empty() => Some(Explained::ByNothing),
        _ => None,
    }
}

/// A case that diverged in a fresh worker as what its repeats show it to be, with their outcomes.
fn repeated(
    workers: &TriageWorkers,
    minimal: DivergingCase,
) -> Result<(DivergingCase, Vec<RepeatedOutcome>), TargetError> {
    let repeater = Repeater { workers, cancellation: &Cancellation::default() };
    let given = vec![(Circumstance::Fresh, minimal.evaluated.clone())];
    Ok(match repeater.repeat(&minimal, &[], given)? {
        Some(repeats) => (repeats.settle(minimal), repeats.outcomes()),
        None => (minimal, Vec::new()),
    })
}

/// The symptom of the divergence of the `known` finding if `evaluated` shows it, or else of the first divergence; `None` if
/// the case does not diverge.
pub(crate) fn symptom(evaluated: &Evaluated, known: Option<&Finding>) -> Option<Symptom> {
    let is_known = |divergence: &&Divergence| {
        known.is_some_and(|known| (known.stage, known.kind) == (divergence.stage, divergence.kind))
    };
    let divergences = evaluated.divergences();
    let lead = divergences.iter().find(is_known).or(divergences.first())?;
    Some(Symptom::of(lead, evaluated))
}

#[cfg(test)]
mod tests {
    use twinfer_case::ReproducingMutant;

    use super::*;

    #[test]
    fn explanation_drifts_if_no_mutant_is_left() {
        let mutant = |name: &&str| ReproducingMutant { name: (*name).to_owned(), clause: String::new() };
        let explained = |names: &[&str]| Diagnosis {
            mutants: names.iter().map(mutant).collect(),
            residual: None,
            unexplained: None,
            ..Diagnosis::default()
        };
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let before = explained(&["axis", "swapped"]);
        assert_eq!(drift(Some(before.clone()), &names(&["axis"])), None);
        assert_eq!(drift(Some(before.clone()), &names(&["bias"])), Some(Explained::By(before.clone())));
        assert_eq!(drift(Some(before.clone()), &[]), Some(Explained::By(before)));
        assert_eq!(drift(None, &names(&["bias"])), Some(Explained::ByNothing));
        assert_eq!(drift(None, &[]), None);
    }
}
