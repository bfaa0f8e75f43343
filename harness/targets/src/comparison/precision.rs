//! In which precision the operators of a model run that golden does not support as a whole.

use twinfer_case::{Case, Divergence, Expectation, Observation, Outcome, Task, VariantRecord, Verdict};
use twinfer_checks::fallbacks;
use twinfer_onnx::PartialGraph;

use super::findings::Findings;
use crate::{OpaqueModel, TargetError, Targets};

/// The nodes of a model that golden knows, as a case that does not run.
pub fn known_nodes(model: &OpaqueModel, graph: &PartialGraph) -> Case {
    Case {
        graph: graph.known_nodes(),
        request: model.request.clone(),
        runs: Vec::new(),
        expectation: Expectation::Valid,
        provenance: None,
    }
}

impl Targets {
    /// Adds to `records` how the `nodes` of a model ran in these observations, and in fresh workers if that is a new finding.
    pub(super) fn judge_precision(
        &self,
        nodes: &Case,
        task: &Task,
        observations: &[Observation],
        findings: &Findings<'_>,
        records: &mut [VariantRecord],
    ) -> Result<(), TargetError> {
        for ((workers, observation), record) in self.variants.iter().zip(observations).zip(records) {
            if observation.outcome != Outcome::Ok {
                continue;
            }
            let (mut divergences, notes) = fallbacks(nodes, workers.info(), observation);
            record.notes.extend(notes);
            if divergences.iter().any(|one| !findings.knows_fallback(workers.info(), one)) {
                let (again, _) = fallbacks(nodes, workers.info(), &workers.observe_fresh(task)?);
                divergences.retain(|one| again.iter().any(|other| one.is_same_fallback(other)));
            }
            add(&mut record.verdict, divergences);
        }
        Ok(())
    }
}

/// Adds fallbacks of the whole model that no segment shows.
fn add(verdict: &mut Verdict, mut fallbacks: Vec<Divergence>) {
    let shown = verdict.divergences();
    fallbacks.retain(|one| !shown.iter().any(|other| one.is_same_fallback(other)));
    match verdict {
        Verdict::Diverges(divergences) => divergences.extend(fallbacks),
        _ if fallbacks.is_empty() => {}
        _ => *verdict = Verdict::Diverges(fallbacks),
    }
}
