//! Segments inside the whole model, judged given their inputs as the variant itself computed them. What is wrong there runs as a model of its own,
//! too.

use twinfer_case::Shown;
use twinfer_onnx::Tensor;

use super::{Examiner, Found, Wrong, WrongBehind};
use crate::{
    coverage::not_observed,
    segment::{Segment, SegmentVerdict},
    values::Values,
};

impl<'a, E> Examiner<'a, '_, E> {
    /// The first segment that ends at one of `ends`, in the order of the graph, and is wrong.
    pub(super) fn first_wrong(&mut self, ends: &[&'a str], values: &mut Values<'_>) -> Option<Wrong<'a>> {
        ends.iter().find_map(|end| self.wrong_at(end, values))
    }

    /// The segment that ends at `end`, if it is wrong.
    fn wrong_at(&mut self, end: &'a str, values: &mut Values<'_>) -> Option<Wrong<'a>> {
        let (segment, case) = self.case_at(end, values)?;
        values.settle(end, case.dtype());
        let observed = self.observed_at(&segment, values)?;
        match case.judge(self.subject.info, self.arithmetic, &observed) {
            SegmentVerdict::Conforms(blindness) => self.coverage.cover_right(&segment, blindness),
            SegmentVerdict::NotJudged(reason) => self.coverage.miss(&segment, &reason),
            SegmentVerdict::Wrong(evaluated) => {
                self.coverage.cover(&segment);
                return Some(Wrong { segment, evaluated });
            }
        }
        None
    }

    /// The output of a segment in every run; `None` if it was not observed, so that the segment is not judged.
    fn observed_at<'v>(&mut self, segment: &Segment<'a>, values: &'v Values<'_>) -> Option<Vec<&'v Tensor>> {
        let observed = values.of(segment.output);
        if observed.is_none() {
            self.coverage.miss(segment, &not_observed(segment.output));
        }
        observed
    }

    /// The segments behind `first` that are wrong, given their inputs as the variant computed them.
    pub(super) fn wrong_behind(
        &mut self,
        first: &Segment<'a>,
        ends: &[&'a str],
        values: &mut Values<'_>,
    ) -> Vec<WrongBehind<'a>> {
        let behind = ends.iter().skip_while(|end| **end != first.output).skip(1);
        behind.filter_map(|end| self.wrong_undiagnosed(end, values)).collect()
    }

    /// The segment that ends at `end`, if it is wrong. Why is not asked.
    fn wrong_undiagnosed(&mut self, end: &'a str, values: &mut Values<'_>) -> Option<WrongBehind<'a>> {
        let (segment, case) = self.case_at(end, values)?;
        values.settle(end, case.dtype());
        let observed = self.observed_at(&segment, values)?;
        let verdict = case.compare(self.subject.info, self.arithmetic, &observed);
        self.if_wrong(segment, verdict)
    }

    /// The part of a wrong segment that is wrong if the values inside it are observed too, with the wrong parts behind it; the whole segment if no
    /// part is.
    pub(super) fn narrow(
        &mut self,
        wrong: Wrong<'a>,
        values: &Values<'_>,
        boundaries: &[&'a str],
    ) -> Result<Found, E> {
        let mut inner = self.parts(&wrong.segment);
        if inner.is_empty() {
            return self.confirm(wrong, values, Shown::InPlace);
        }
        let observed: Vec<&str> = boundaries.iter().copied().chain(inner.iter().copied()).collect();
        let observation = self.observe_with(&observed)?;
        if let Some(mut narrower) = self.values(&observation, &observed) {
            inner.push(wrong.segment.output);
            inner.sort_by_key(|end| self.structure.place(end));
            let others_before = self.others.len();
            let part = match self.first_wrong(&inner, &mut narrower) {
                Some(part) => {
                    let rest = self.wrong_behind(&part.segment, &inner, &mut narrower);
                    let part = self.confirm(part, &narrower, Shown::InPlace)?;
                    self.find_others(&part, &rest, &narrower)?;
                    Some(part.with_behind(&rest))
                }
                None => self.wrong_behind_overflow(&inner, &narrower)?,
            };
            let others_after = self.others.len();
            if let Some(part) = part {
                self.account_with(Some(&observation));
                if part.stands_alone {
                    return Ok(part);
                }
                let whole = self.confirm(wrong, values, Shown::InPlace)?;
                if !whole.stands_alone {
                    return Ok(part);
                }
                self.drop_resembling(&whole, others_before..others_after);
                return Ok(Found { culprit: part.culprit, ..whole });
            }
            return self.confirm(wrong, values, Shown::Fused);
        }
        self.confirm(wrong, values, Shown::InPlace)
    }

    /// The first segment that ends at one of `ends`, reads a computed value that is not finite, and is wrong as a model of its own. Inside the model such a
    /// value shows nothing: where it is not observed, a backend may hold it in a wider type, in which it is finite.
    pub(super) fn wrong_behind_overflow(
        &mut self,
        ends: &[&'a str],
        values: &Values<'_>,
    ) -> Result<Option<Found>, E> {
        for end in ends {
            let Ok(segment) = self.structure.segment(end, &values.known()) else { continue };
            if !reads_overflow(&segment, values) {
                continue;
            }
            let Ok(case) = segment.case(&self.subject.task.request, values) else { continue };
            let observation = (self.observe)(&case.encoded().task)?;
            if let SegmentVerdict::Wrong(alone) = self.judge_alone(&case, observation) {
                let alone = Found::alone(&segment, Shown::Alone, *alone);
                if !alone.keeps_values() {
                    return Ok(Some(alone));
                }
                self.add_other(alone);
            }
        }
        Ok(None)
    }

    /// Runs a wrong segment as a model of its own. If it is wrong in another way there, or only runs in another precision, both are found.
    pub(super) fn confirm(
        &mut self,
        wrong: Wrong<'a>,
        values: &Values<'_>,
        shown: Shown,
    ) -> Result<Found, E> {
        let Wrong { segment, evaluated } = wrong;
        if let Ok(case) = segment.case(&self.subject.task.request, values) {
            let observation = (self.observe)(&case.encoded().task)?;
            if let SegmentVerdict::Wrong(alone) = self.judge_alone(&case, observation) {
                let alone = Found::alone(&segment, Shown::Alone, *alone);
                if !self.explains(&alone, &evaluated) {
                    self.add_other(alone);
                    return Ok(Found::only_inside(&segment, shown, *evaluated));
                }
                let shown = if shown == Shown::InPlace { Shown::Alone } else { shown };
                return Ok(Found::alone(&segment, shown, alone.evaluated));
            }
        }
        Ok(Found::only_inside(&segment, shown, *evaluated))
    }
}

/// Whether a value that `segment` reads and a node computes is not finite.
fn reads_overflow(segment: &Segment<'_>, values: &Values<'_>) -> bool {
    let computed = segment.inputs.iter().zip(&segment.computed).filter(|(_, is_computed)| **is_computed);
    let mut tensors = computed.filter_map(|(input, _)| values.of(input)).flatten();
    tensors.any(|tensor| tensor.to_f64().iter().any(|number| !number.is_finite()))
}
