//! The segments of a model that golden supports, if it does not support the whole.

use std::iter;

use twinfer_case::{Outcome, Stage, Task, VariantRecord};
use twinfer_onnx::PartialGraph;

use super::{
    findings::{Findings, Shown},
    repeats::repeat_inside,
    segment_finding::SegmentFinding,
    segment_verdict::judge_with,
};
use crate::{OpaqueModel, TargetError, Targets};

/// How many of the wrong segments behind the first are looked into.
const LOOKED_INTO: usize = 8;

impl Targets {
    /// Judges the segments of a model on every variant that executed it, and adds what that shows to `records`. If segments are wrong,
    /// `shown` becomes what they are.
    pub(super) fn judge_segments(
        &self,
        (model, graph): (&OpaqueModel, &PartialGraph),
        task: &Task,
        findings: &mut Findings<'_>,
        (records, shown): (&mut [VariantRecord], &mut [Shown]),
    ) -> Result<(), TargetError> {
        for ((workers, record), shown) in self.variants.iter().zip(records).zip(shown) {
            if record.stage != Stage::Execute || record.outcome != Some(Outcome::Ok) {
                continue;
            }
            let whole = record.clone();
            let observation = workers.observe_warm(task)?;
            let mut observe = |task: &Task| workers.observe_warm(task);
            let found = judge_with(workers, (graph, task), &observation, record, LOOKED_INTO, &mut observe)?;
            let is_lead = record.verdict.divergences().first().is_some_and(|lead| lead.culprit.is_some());
            let Some(first) = found.first().filter(|_| is_lead) else { continue };
            *shown = if first.stands_alone {
                let mut segments = Vec::new();
                for found in found {
                    segments.extend(SegmentFinding::of(found, workers, |one| findings.knows(one), record)?);
                }
                Shown::Segments(segments)
            } else if findings.are_to_be_repeated(iter::once((workers.info(), &*record))) {
                Shown::Model(repeat_inside(workers, graph, task, &whole)?.settle(model, record))
            } else {
                Shown::Model(Vec::new())
            };
        }
        Ok(())
    }
}
