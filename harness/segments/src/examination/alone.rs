//! Segments of a variant that returns no values inside: each runs as a model of its own.

use twinfer_case::{Observation, Shown, Verdict};
use twinfer_checks::Evaluated;
use twinfer_onnx::Tensor;

use super::{Examiner, Found, Subject, WrongBehind};
use crate::{
    blindness::blindness,
    segment::{Segment, SegmentCase, SegmentVerdict},
    values::Values,
};

impl<'a, E> Examiner<'a, '_, E> {
    /// Judges segments as models of their own, whose inputs golden computes.
    pub(super) fn search_alone(&mut self, boundaries: &[&'a str]) -> Result<Option<Found>, E> {
        let mut values = Values::given(self.subject.graph, self.subject.task);
        let all = self.ends(boundaries);
        let (mut ends, mut fallbacks) = (all.iter().copied(), Vec::new());
        while let Some(end) = ends.next() {
            let Some((found, segment)) = self.wrong_alone(end, &mut values)? else { continue };
            if found.keeps_values() {
                fallbacks.push(found);
                continue;
            }
            let mut behind = Vec::new();
            for end in ends {
                behind.extend(self.wrong_alone_undiagnosed(end, &mut values)?);
            }
            let parts = self.parts(&segment);
            let narrower = if parts.is_empty() {
                None
            } else {
                self.narrow_alone(parts.iter().copied().chain([segment.output]), &mut values)?
            };
            if self.subject.is_to_be_accounted_for() {
                let of_segment = if narrower.is_some() { parts } else { Vec::new() };
                let composed = self.compose(self.in_order(all.into_iter().chain(of_segment)))?;
                self.account_with(composed.as_ref());
            }
            let found = narrower.unwrap_or(found);
            self.find_others(&found, &behind, &values)?;
            for fallback in fallbacks {
                self.add_other(fallback);
            }
            return Ok(Some(found.with_behind(&behind)));
        }
        // a fallback is no reason for wrong outputs if it keeps the values
        let mut fallbacks = fallbacks.into_iter();
        let found = if self.subject.is_wrong { None } else { fallbacks.next() };
        for fallback in fallbacks {
            self.add_other(fallback);
        }
        Ok(found)
    }

    /// What the variant does with the segments that end at `ends` one after another, each on what it computed for those before; `None` if it does not
    /// run one of them.
    fn compose(&mut self, ends: Vec<&'a str>) -> Result<Option<Observation>, E> {
        let Subject { graph, task, .. } = self.subject;
        let mut values = Values::given(graph, task);
        for end in ends {
            let segment = self.structure.segment(end, &values.known()).ok();
            let Some(case) = segment.and_then(|segment| segment.case(&task.request, &values).ok()) else {
                return Ok(None);
            };
            let observation = (self.observe)(&case.encoded().task)?;
            let Some(outputs) = only_outputs(&observation, task.runs.len()) else { return Ok(None) };
            values.add(end, outputs);
        }
        Ok(values.outputs(&graph.outputs))
    }

    /// The first part of a wrong segment that is wrong as a model of its own, of the parts that end at `ends`, with the wrong ones behind it;
    /// `None` if no part is.
    fn narrow_alone(
        &mut self,
        ends: impl IntoIterator<Item = &'a str>,
        values: &mut Values<'a>,
    ) -> Result<Option<Found>, E> {
        let mut ends = ends.into_iter();
        while let Some(end) = ends.next() {
            let wrong = self.wrong_alone(end, values)?.filter(|(part, _)| !part.keeps_values());
            let Some((part, _)) = wrong else { continue };
            let mut rest = Vec::new();
            for end in ends {
                rest.extend(self.wrong_alone_undiagnosed(end, values)?);
            }
            self.find_others(&part, &rest, values)?;
            return Ok(Some(part.with_behind(&rest)));
        }
        Ok(None)
    }

    /// The segment that ends at `end`, if it is wrong as a model of its own. Adds what golden computes for it to `values`.
    fn wrong_alone(
        &mut self,
        end: &'a str,
        values: &mut Values<'a>,
    ) -> Result<Option<(Found, Segment<'a>)>, E> {
        let Some((segment, case, observation)) = self.observe_alone(end, values)? else { return Ok(None) };
        match self.judge_alone(&case, observation) {
            SegmentVerdict::Conforms(blindness) => self.coverage.cover_right(&segment, blindness),
            SegmentVerdict::NotJudged(reason) => self.coverage.miss(&segment, &reason),
            SegmentVerdict::Wrong(evaluated) => {
                self.coverage.cover(&segment);
                return Ok(Some((Found::alone(&segment, Shown::Alone, *evaluated), segment)));
            }
        }
        Ok(None)
    }

    /// As [`Self::wrong_alone`]. Neither why it is wrong nor the precision in which it runs is asked.
    fn wrong_alone_undiagnosed(
        &mut self,
        end: &'a str,
        values: &mut Values<'a>,
    ) -> Result<Option<WrongBehind<'a>>, E> {
        let Some((segment, case, observation)) = self.observe_alone(end, values)? else { return Ok(None) };
        let observation = Observation { precision: None, ..observation };
        let verdict = case.compare_alone(self.subject.info, &observation);
        Ok(self.if_wrong(segment, verdict))
    }

    /// Judges what the variant did with a segment as a model of its own, as far as it concerns the whole model: without fallbacks that this does not
    /// show.
    pub(super) fn judge_alone(
        &self,
        case: &SegmentCase,
        observation: Observation,
    ) -> SegmentVerdict<Box<Evaluated>> {
        let Subject { info, observation: whole, .. } = self.subject;
        let mut evaluated = match case.judge_observation(info, observation) {
            SegmentVerdict::Wrong(evaluated) => evaluated,
            judged => return judged,
        };
        if let Verdict::Diverges(divergences) = &mut evaluated.judgement.verdict {
            divergences.retain(|divergence| !case.falls_back_alone(divergence, info, whole));
            if divergences.is_empty() {
                return SegmentVerdict::Conforms(blindness(&evaluated.references));
            }
        }
        SegmentVerdict::Wrong(evaluated)
    }

    /// What the variant does with the segment that ends at `end` as a model of its own; `None` if there is none, which is noted. Adds what
    /// golden computes for it to `values`.
    fn observe_alone(
        &mut self,
        end: &'a str,
        values: &mut Values<'a>,
    ) -> Result<Option<(Segment<'a>, SegmentCase, Observation)>, E> {
        let Some((segment, case)) = self.case_at(end, values) else { return Ok(None) };
        if let Some(expected) = case.expected(self.subject.info) {
            values.add(end, expected);
        }
        let observation = (self.observe)(&case.encoded().task)?;
        Ok(Some((segment, case, observation)))
    }
}

/// The output of a model with one output, in each of so many runs; `None` if there is none.
fn only_outputs(observation: &Observation, runs: usize) -> Option<Vec<Tensor>> {
    let outputs = observation.runs.iter().map(|run| run.outputs.first().cloned());
    outputs.collect::<Option<Vec<_>>>().filter(|outputs| outputs.len() == runs)
}
