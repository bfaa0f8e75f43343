//! *Minimizing* reduces one diverging case to the smallest that shows the same divergence.

use std::path::{Path, PathBuf};

use twinfer_case::{Case, Circumstance, Divergence, Event, Finding, RepeatedOutcome, VariantRecord};
use twinfer_checks::{Evaluated, expected_outputs};
use twinfer_store::{Observed, write_finding};
use twinfer_triage::{
    Cancellation, DivergingCase, Neighbors, Reduction, Repeater, Study, Symptom, confirm_smaller, finding,
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
    /// Minimizes `case` for the first variant that diverges on it, experiments with cases chosen from `neighbors`, and writes the
    /// finding to a folder in `out`. Given a `known` finding, the divergence of that finding is followed if the case shows it, and
    /// the first divergence otherwise.
    pub fn minimize(
        &self,
        case: &Case,
        known: Option<&Finding>,
        neighbors: &Neighbors,
        out: &Path,
        sink: &mut dyn FnMut(&Event),
    ) -> Result<Minimization, TargetError> {
        let mut records = Vec::new();
        for workers in &self.variants {
            let evaluated = self.evaluate_fresh(workers, case)?;
            let Some(symptom) = symptom(&evaluated, known) else {
                records.push(evaluated.record(workers.info()));
                continue;
            };
            let mut minimal =
                self.smallest(workers, DivergingCase { evaluated: evaluated.clone(), symptom }, sink)?;
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
            return Ok(Minimization::Minimal(Box::new(Minimal { finding, folder })));
        }
        Ok(Minimization::NoDivergence(records))
    }

    /// The smallest case on which the first variant that diverges on `case` diverges in the same way, with the finding that it
    /// shows, without experiments and repeats; `None` if no variant diverges.
    pub fn reduce(&self, case: &Case) -> Result<Option<(Finding, Case)>, TargetError> {
        for workers in &self.variants {
            let evaluated = self.evaluate_fresh(workers, case)?;
            if let Some(symptom) = symptom(&evaluated, None) {
                let diverging = DivergingCase { evaluated: evaluated.clone(), symptom };
                let minimal = self.smallest(workers, diverging, &mut |_| {})?;
                let finding = finding(workers.info(), &evaluated, &minimal, Vec::new());
                return Ok(Some((finding, minimal.evaluated.encoded.case.clone())));
            }
        }
        Ok(None)
    }

    /// The smallest case that shows the symptom of `diverging`, or the wrong shape from which it follows, in fresh workers too.
    fn smallest(
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
