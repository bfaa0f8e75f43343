//! The segments of a model that golden supports, if it does not support the whole.

use std::{collections::BTreeSet, iter};

use twinfer_case::{Divergence, Kind, Note, Observation, Outcome, Stage, Task, VariantRecord, Verdict};
use twinfer_checks::{OutputSource, judge_together};
use twinfer_onnx::PartialGraph;
use twinfer_segments::Found;

use super::{
    answer,
    findings::{Findings, Shown},
    repeats::repeat_inside,
    segment_finding::SegmentFinding,
    segment_verdict::judge_with,
    uncompared::{affected_outputs, not_compared},
};
use crate::{OpaqueModel, TargetError, Targets};

/// A variant with a wrong segment.
struct WrongVariant {
    place: usize,
    /// What it did.
    observation: Observation,
    /// The outputs that depend on what is wrong, by their places.
    affected: Vec<usize>,
}

/// How many of the wrong segments behind the first are looked into.
const LOOKED_INTO: usize = 8;

impl Targets {
    /// Judges the segments of a model on every variant that executed it, and adds what that shows to `records`. If segments are wrong,
    /// `shown` becomes what they are. That another variant differs from one with a wrong segment says nothing of it.
    pub(super) fn judge_segments(
        &self,
        (model, graph): (&OpaqueModel, &PartialGraph),
        task: &Task,
        findings: &mut Findings<'_>,
        (records, shown): (&mut [VariantRecord], &mut [Shown]),
    ) -> Result<(), TargetError> {
        let (mut others, mut wrong) = (Vec::new(), Vec::new());
        for (place, (workers, shown)) in self.variants.iter().zip(shown).enumerate() {
            let record = &mut records[place];
            if record.stage != Stage::Execute || record.outcome != Some(Outcome::Ok) {
                continue;
            }
            let whole = record.clone();
            let observation = workers.observe_warm(task)?;
            let mut observe = |task: &Task| workers.observe_warm(task);
            let found = judge_with(workers, (graph, task), &observation, record, LOOKED_INTO, &mut observe)?;
            if found.iter().all(Found::keeps_values) {
                others.push((place, observation));
            } else {
                let affected = affected_outputs(graph, &found, record);
                wrong.push(WrongVariant { place, observation, affected });
            }
            let Some(first) = found.first() else { continue };
            let is_lead = record.verdict.divergences().first().is_some_and(|lead| lead.culprit.is_some());
            let stands_alone = first.stands_alone;
            if is_lead {
                shown.outcomes = Vec::new();
            }
            if stands_alone {
                for found in found {
                    let lead = Some(&mut *record).filter(|_| is_lead);
                    let segment = SegmentFinding::of(found, workers, |one| findings.knows(one), lead)?;
                    shown.segments.extend(segment);
                }
            } else if is_lead && findings.are_to_be_repeated(iter::once((workers.info(), &*record))) {
                shown.outcomes = repeat_inside(workers, graph, task, &whole)?.settle(model, record);
            }
        }
        if !wrong.is_empty() {
            self.compare_others(model, &others, records);
            self.compare_unaffected((model, graph), &others, &wrong, records);
        }
        Ok(())
    }

    /// Compares the outputs that depend on no wrong segment of any variant, and notes which ones of a variant are compared with none. `others` are the
    /// variants without a wrong segment.
    fn compare_unaffected(
        &self,
        (model, graph): (&OpaqueModel, &PartialGraph),
        others: &[(usize, Observation)],
        wrong: &[WrongVariant],
        records: &mut [VariantRecord],
    ) {
        let mut sources = model.output_sources();
        sources.resize(graph.outputs.len(), OutputSource::default());
        for affected in wrong.iter().flat_map(|variant| &variant.affected) {
            sources[*affected] = OutputSource::Wrong;
        }
        let infos: Vec<_> = self.infos().collect();
        let all = others.iter().map(|(place, observation)| (*place, observation));
        let all: Vec<_> = all.chain(wrong.iter().map(|one| (one.place, &one.observation))).collect();
        let answers: Vec<_> =
            all.iter().map(|(place, observation)| answer(infos[*place], observation, Vec::new())).collect();
        let judged = judge_together(&answers, model.question(&sources));
        for ((place, _), judged) in all.iter().zip(judged).skip(others.len()) {
            let disagrees = judged.verdict.divergences().iter().filter(|one| one.kind == Kind::Disagree);
            if let Verdict::Diverges(divergences) = &mut records[*place].verdict {
                divergences.extend(disagrees.cloned());
            }
        }
        let affected: BTreeSet<usize> =
            wrong.iter().flat_map(|variant| variant.affected.iter().copied()).collect();
        let affected: Vec<_> = affected.into_iter().map(|output| graph.outputs[output].clone()).collect();
        for variant in wrong.iter().filter(|_| all.len() > 1) {
            records[variant.place].notes.extend(not_compared(&affected, "a segment is wrong"));
        }
        if let [(only, _)] = others {
            records[*only].notes.extend(not_compared(&affected, "a segment of every other one is wrong"));
        }
    }

    /// Compares the variants of which no segment is wrong with each other only. `others` has their places and what they did.
    fn compare_others(
        &self,
        model: &OpaqueModel,
        others: &[(usize, Observation)],
        records: &mut [VariantRecord],
    ) {
        let (sources, infos): (_, Vec<_>) = (model.output_sources(), self.infos().collect());
        let answers: Vec<_> = others
            .iter()
            .map(|(place, observation)| answer(infos[*place], observation, Vec::new()))
            .collect();
        let judged = judge_together(&answers, model.question(&sources));
        for ((place, _), judged) in others.iter().zip(judged) {
            compared_again(&mut records[*place], judged.verdict);
        }
    }
}

/// Replaces how a variant disagrees with others by how it disagrees with those of which no segment is wrong.
fn compared_again(record: &mut VariantRecord, again: Verdict) {
    let (before, now) = (record.verdict.divergences(), again.divergences());
    if before.is_empty() && now.is_empty() {
        return;
    }
    let disagrees = |divergence: &&Divergence| divergence.kind == Kind::Disagree;
    let others = before.iter().filter(|one| !disagrees(one));
    let divergences: Vec<_> = others.chain(now.iter().filter(disagrees)).cloned().collect();
    let is_judged = |note: &Note| matches!(note, Note::Segments(_));
    record.verdict = match again {
        _ if !divergences.is_empty() => Verdict::Diverges(divergences),
        // as without another variant
        Verdict::Unspecified(_) | Verdict::NoReference(_) if record.notes.iter().any(is_judged) => {
            Verdict::Conforms
        }
        again => again,
    };
}
