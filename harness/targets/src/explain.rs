//! *Explaining* finds out by experiments under which condition a finding shows, and which of its explanations other cases refute.

use std::path::Path;

use twinfer_case::{Divergence, Finding, Kind, Sighting, VariantRecord};
use twinfer_store::{read_finding, update_finding};
use twinfer_triage::{
    Cancellation, DivergingCase, Experiments, Neighbors, Reduction, Study, is_shown_by_others,
};
use twinfer_workers::TriageWorkers;

use crate::{TargetError, Targets, case::read_case, minimize::symptom};

/// What became of a finding that was to be explained.
#[derive(Clone, Debug, PartialEq)]
pub enum Explanation {
    /// The finding with what experiments showed, as it is in its folder now.
    Explained(Box<Finding>),
    /// The case does not diverge any more: the verdict on it.
    NotRecurring(Box<VariantRecord>),
    /// No experiment tells anything of findings of this kind.
    NotStudied(Kind),
    /// The finding shows only inside its whole case, which no other case has.
    OnlyInside,
    /// None of the variants is one that showed the finding.
    NotRun(Vec<Sighting>),
}

impl Targets {
    /// Experiments with the finding in `folder` on the first variant that showed it, with cases chosen from `neighbors`, and writes what
    /// they show to its `finding.json`. The signature of the finding stays.
    pub fn explain(&self, folder: &Path, neighbors: &Neighbors) -> Result<Explanation, TargetError> {
        let mut finding = read_finding(folder)?.ok_or_else(|| TargetError::NoFinding(folder.to_owned()))?;
        if !is_shown_by_others(finding.kind) {
            return Ok(Explanation::NotStudied(finding.kind));
        }
        if finding.only_inside {
            return Ok(Explanation::OnlyInside);
        }
        let case = read_case(folder)?;
        let Some(workers) = self.variants.iter().find(|one| finding.is_seen_in(&one.info().variant)) else {
            return Ok(Explanation::NotRun(finding.seen_in));
        };
        let evaluated = self.evaluate_fresh(workers, &case)?;
        let shown = symptom(&evaluated, Some(&finding))
            .filter(|shown| (shown.kind(), shown.stage()) == (finding.kind, finding.stage));
        let Some(symptom) = shown else {
            return Ok(Explanation::NotRecurring(Box::new(evaluated.record(workers.info()))));
        };
        let minimal = DivergingCase { evaluated, symptom };
        let study = self.study(workers, &minimal, neighbors)?;
        let symptom = minimal.symptom.clone().without(&study.refuted);
        finding.trigger = study.trigger;
        finding.diagnosis = symptom.diagnosis().to_vec();
        finding.refuted = symptom.refuted().to_vec();
        for divergence in &mut finding.divergences {
            let shown = minimal.evaluated.divergences();
            let is_of_kind = |now: &&Divergence| (now.stage, now.kind) == (divergence.stage, divergence.kind);
            // other elements may differ most than those of which the stored text tells; all of a case are explained alike
            let now =
                shown.iter().find(|now| now.is_like(divergence)).or_else(|| shown.iter().find(is_of_kind));
            let diagnosis = now.map_or_else(|| divergence.diagnosis.take(), |now| now.diagnosis.clone());
            divergence.diagnosis = diagnosis.map(|diagnosis| diagnosis.narrowed_to(&finding.diagnosis));
        }
        finding.explain_by(study.composed.as_ref());
        update_finding(folder, &finding)?;
        Ok(Explanation::Explained(Box::new(finding)))
    }

    /// What experiments show of a minimal case.
    pub(crate) fn study(
        &self,
        workers: &TriageWorkers,
        minimal: &DivergingCase,
        neighbors: &Neighbors,
    ) -> Result<Study, TargetError> {
        let reduction = &Reduction { workers, oracle: &self.oracle, cancellation: &Cancellation::default() };
        Ok(Experiments { reduction, neighbors: Some(neighbors) }.study(minimal)?)
    }
}
