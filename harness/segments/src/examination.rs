use std::ops::Range;

use twinfer_case::{
    Arithmetic, Culprit, Divergence, Observation, Outcome, SegmentCounts, Shown, Task, VariantInfo,
    WrongSegment,
};
use twinfer_checks::Evaluated;
use twinfer_onnx::{Graph, PartialGraph, Tensor};

use crate::{
    composition::accounts,
    coverage::{Coverage, not_observed},
    segment::{LargestDifference, Segment, SegmentCase, SegmentVerdict},
    structure::Structure,
    suspicion::is_suspicious,
    values::Values,
};

/// What a variant did with a model as a whole.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The variant.
    pub info: &'a VariantInfo,
    /// The model's graph.
    pub graph: &'a PartialGraph,
    /// The model with its inputs.
    pub task: &'a Task,
    /// What the variant did when only the outputs were observed.
    pub observation: &'a Observation,
    /// Whether an output is known to be wrong.
    pub is_wrong: bool,
    /// When segments are run as models of their own, if the variant returns no values inside the graph.
    pub cutting: Cutting<'a>,
    /// How many of the wrong parts of the first wrong segment, and of the wrong segments behind it, are looked into. If it is none, wrong segments need not account for
    /// [what the model shows](Examination::unaccounted) either.
    pub looked_into: usize,
}

/// When segments are run as models of their own.
#[derive(Clone, Copy)]
pub enum Cutting<'a> {
    /// Always.
    Always,
    /// If the outputs of this graph, that of the model, are wrong or farther off than rounding is likely to bring them.
    IfSuspicious(&'a Graph),
}

/// What judging segment by segment shows.
#[derive(Default)]
pub struct Examination {
    /// The segments that were judged, and the nodes that were not.
    pub counts: SegmentCounts,
    /// The first segment that is wrong, if one is.
    pub found: Option<Found>,
    /// Segments behind it that are wrong for other reasons, as models of their own or only inside the whole model.
    pub others: Vec<Found>,
    /// The whole model, if its outputs are wrong in another way than its segments are one after another: something else is wrong with it.
    pub unaccounted: Option<Culprit>,
}

/// A segment that is wrong.
pub struct Found {
    /// The segment by its names.
    pub culprit: Culprit,
    /// The segment as a case of its own, with what diverges. If the [culprit](Self::culprit) is only wrong inside the whole model, a backend
    /// that runs this case conforms.
    pub evaluated: Evaluated,
    /// Whether the variant diverges on that case.
    pub stands_alone: bool,
}

/// Runs a task on the variant.
pub type Observe<'a, E> = &'a mut dyn FnMut(&Task) -> Result<Observation, E>;

/// The most sets of observed values that are searched for nodes that are wrong only together, each with a logarithmic number of runs.
const MAX_SEARCHES: usize = 8;

/// Whether a graph has values to observe, so that it has segments besides itself.
pub fn has_segments(graph: &PartialGraph) -> bool {
    !Structure::of(graph).boundaries().is_empty()
}

/// Judges the model of `subject` segment by segment.
///
/// A variant that returns no intermediate values is judged on each segment as a model of its own, whose inputs golden computes, if the
/// subject's [`Cutting`] asks for that.
///
/// # Errors
///
/// If `observe` fails.
pub fn examine<E>(subject: Subject<'_>, observe: Observe<'_, E>) -> Result<Examination, E> {
    let structure = Structure::of(subject.graph);
    let arithmetic = subject.observation.arithmetic(subject.info.description.arithmetic);
    let mut examiner = Examiner {
        subject,
        arithmetic,
        structure: &structure,
        observe,
        coverage: Coverage::default(),
        others: Vec::new(),
        unaccounted: None,
    };
    let found = examiner.search()?;
    let counts = examiner.coverage.counts(&structure);
    Ok(Examination { counts, found, others: examiner.others, unaccounted: examiner.unaccounted })
}

struct Examiner<'a, 'o, E> {
    subject: Subject<'a>,
    /// The arithmetic of the variant's engine for the whole model.
    arithmetic: Arithmetic,
    structure: &'a Structure<'a>,
    observe: Observe<'o, E>,
    coverage: Coverage,
    others: Vec<Found>,
    unaccounted: Option<Culprit>,
}

/// A segment that is wrong inside the whole model.
struct Wrong<'a> {
    segment: Segment<'a>,
    evaluated: Box<Evaluated>,
}

/// A wrong segment behind the first one.
struct WrongBehind<'a> {
    segment: Segment<'a>,
    difference: LargestDifference,
}

impl<'a, E> Examiner<'a, '_, E> {
    fn search(&mut self) -> Result<Option<Found>, E> {
        let boundaries = self.structure.boundaries();
        let observation = self.observe_with(&boundaries)?;
        let Some(mut values) = self.values(&observation, &boundaries) else {
            return if self.is_worth_cutting() { self.search_alone(&boundaries) } else { Ok(None) };
        };
        let ends = self.ends(&boundaries);
        if let Some(wrong) = self.first_wrong(&ends, &mut values) {
            let behind = self.wrong_behind(&wrong.segment, &ends, &mut values);
            self.account_with(Some(&observation));
            let found = self.narrow(wrong, &values, &boundaries)?;
            self.find_others(&found, &behind, &values)?;
            return Ok(Some(found.with_behind(&behind)));
        }
        if self.subject.is_wrong
            && let Some(found) = self.wrong_behind_overflow(&ends, &values)?
        {
            return Ok(Some(found));
        }
        if !boundaries.is_empty() && (self.subject.is_wrong || !self.has_same_outputs(&observation)) {
            return self.search_fused(boundaries, observation);
        }
        Ok(None)
    }

    fn is_worth_cutting(&self) -> bool {
        let Subject { info, task, observation, is_wrong, cutting, .. } = self.subject;
        match cutting {
            Cutting::Always => true,
            Cutting::IfSuspicious(graph) => is_wrong || is_suspicious(info, graph, task, observation),
        }
    }

    /// What the variant does if `values` are observed.
    fn observe_with(&mut self, values: &[&str]) -> Result<Observation, E> {
        if values.is_empty() {
            return Ok(self.subject.observation.clone());
        }
        let names = values.iter().map(|&name| name.to_owned()).collect();
        (self.observe)(&self.subject.task.clone().observing(names))
    }

    /// The values of an observation; `None` unless it has those called `wanted`.
    fn values<'v>(&self, observation: &'v Observation, wanted: &[&str]) -> Option<Values<'v>>
    where
        'a: 'v,
    {
        if observation.outcome != Outcome::Ok {
            return None;
        }
        let values = Values::observed(self.subject.graph, self.subject.task, observation)?;
        let known = values.known();
        wanted.iter().all(|name| known.contains(name)).then_some(values)
    }

    /// Where segments end: at `boundaries` and at the graph's outputs, in the order of the graph.
    fn ends(&self, boundaries: &[&'a str]) -> Vec<&'a str> {
        self.in_order(boundaries.iter().copied().chain(self.structure.computed_outputs()))
    }

    /// Each of these values once, in the order of the graph.
    fn in_order(&self, values: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
        let mut values: Vec<_> = values.collect();
        values.sort_by_key(|end| self.structure.place(end));
        values.dedup();
        values
    }

    /// The first segment that ends at one of `ends`, in the order of the graph, and is wrong.
    fn first_wrong(&mut self, ends: &[&'a str], values: &mut Values<'_>) -> Option<Wrong<'a>> {
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
    fn wrong_behind(
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

    /// Finds the segments of `behind` that are wrong as models of their own or, if they are right so or wrong in another way, inside the whole model: each
    /// for another reason than `first` and those before it.
    fn find_others(
        &mut self,
        first: &Found,
        behind: &[WrongBehind<'a>],
        values: &Values<'_>,
    ) -> Result<(), E> {
        for WrongBehind { segment, .. } in behind.iter().take(self.subject.looked_into) {
            let Ok(case) = segment.case(&self.subject.task.request, values) else { continue };
            let observation = (self.observe)(&case.encoded().task)?;
            let in_place = || self.found_in_place(segment, &case, values);
            let (alone, in_place) = match case.judge_observation(self.subject.info, observation) {
                SegmentVerdict::Wrong(alone) => {
                    let in_place = in_place().filter(|found| !self.accounts(&alone, &found.evaluated));
                    (Some(Found::alone(segment, Shown::Alone, *alone)), in_place)
                }
                SegmentVerdict::Conforms(_) => (None, in_place()),
                SegmentVerdict::NotJudged(_) => (None, None),
            };
            // a segment may also be refused as a model of its own, which says nothing about the model
            let concerns_values =
                |found: &Found| found.evaluated.divergences().iter().any(Divergence::concerns_values);
            let others = alone.into_iter().chain(in_place).filter(concerns_values);
            for other in others.filter(|other| !first.resembles(other)) {
                self.add_other(other);
            }
        }
        Ok(())
    }

    /// What a segment that is right as a model of its own shows inside the whole model; `None` if nothing.
    fn found_in_place(
        &self,
        segment: &Segment<'a>,
        case: &SegmentCase,
        values: &Values<'_>,
    ) -> Option<Found> {
        let observed = values.of(segment.output)?;
        match case.judge(self.subject.info, self.arithmetic, &observed) {
            SegmentVerdict::Wrong(evaluated) => Some(Found::only_inside(segment, Shown::InPlace, *evaluated)),
            SegmentVerdict::Conforms(_) | SegmentVerdict::NotJudged(_) => None,
        }
    }

    /// The segment that ends at `end`, and the segment as a case; `None` if there is none, which is noted.
    fn case_at(&mut self, end: &'a str, values: &Values<'_>) -> Option<(Segment<'a>, SegmentCase)> {
        let segment = match self.structure.segment(end, &values.known()) {
            Ok(segment) => segment,
            Err(stop) => {
                self.coverage.stop(self.structure.place(end), &stop);
                return None;
            }
        };
        match segment.case(&self.subject.task.request, values) {
            Ok(case) => Some((segment, case)),
            Err(reason) => {
                self.coverage.miss(&segment, &reason);
                None
            }
        }
    }

    /// Notes whether a segment was judged. Gives it back if it is wrong.
    fn if_wrong(
        &mut self,
        segment: Segment<'a>,
        verdict: SegmentVerdict<LargestDifference>,
    ) -> Option<WrongBehind<'a>> {
        match verdict {
            SegmentVerdict::Conforms(_) => self.coverage.cover(&segment),
            SegmentVerdict::NotJudged(reason) => self.coverage.miss(&segment, &reason),
            SegmentVerdict::Wrong(difference) => {
                self.coverage.cover(&segment);
                return Some(WrongBehind { segment, difference });
            }
        }
        None
    }

    /// The part of a wrong segment that is wrong if the values inside it are observed too, with the wrong parts behind it; the whole segment if no
    /// part is.
    fn narrow(&mut self, wrong: Wrong<'a>, values: &Values<'_>, boundaries: &[&'a str]) -> Result<Found, E> {
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
    fn wrong_behind_overflow(&mut self, ends: &[&'a str], values: &Values<'_>) -> Result<Option<Found>, E> {
        for end in ends {
            let Ok(segment) = self.structure.segment(end, &values.known()) else { continue };
            if !reads_overflow(&segment, values) {
                continue;
            }
            let Ok(case) = segment.case(&self.subject.task.request, values) else { continue };
            let observation = (self.observe)(&case.encoded().task)?;
            if let SegmentVerdict::Wrong(alone) = case.judge_observation(self.subject.info, observation) {
                return Ok(Some(Found::alone(&segment, Shown::Alone, *alone)));
            }
        }
        Ok(None)
    }

    /// Adds a wrong segment unless it is wrong for the same reason as another one besides the culprit.
    fn add_other(&mut self, other: Found) {
        if !self.others.iter().any(|found| found.resembles(&other)) {
            self.others.push(other);
        }
    }

    /// Drops those of the other wrong segments at these places that are wrong for the same reason as `found`.
    fn drop_resembling(&mut self, found: &Found, places: Range<usize>) {
        let mut place = 0..;
        self.others.retain(|other| {
            let is_concerned = place.next().is_some_and(|place| places.contains(&place));
            !is_concerned || !found.resembles(other)
        });
    }

    /// Whether a segment that is wrong as a model of its own is wrong in the same way inside the whole model; true if that is not asked.
    fn accounts(&self, alone: &Evaluated, in_place: &Evaluated) -> bool {
        self.subject.looked_into == 0
            || accounts(&alone.observation, &in_place.observation, &alone.encoded.task, self.arithmetic)
    }

    /// Runs a wrong segment as a model of its own. If it is wrong in another way there, both are found.
    fn confirm(&mut self, wrong: Wrong<'a>, values: &Values<'_>, shown: Shown) -> Result<Found, E> {
        let Wrong { segment, evaluated } = wrong;
        if let Ok(case) = segment.case(&self.subject.task.request, values) {
            let observation = (self.observe)(&case.encoded().task)?;
            if let SegmentVerdict::Wrong(alone) = case.judge_observation(self.subject.info, observation) {
                if !self.accounts(&alone, &evaluated) {
                    self.add_other(Found::alone(&segment, Shown::Alone, *alone));
                    return Ok(Found::only_inside(&segment, shown, *evaluated));
                }
                let shown = if shown == Shown::InPlace { Shown::Alone } else { shown };
                return Ok(Found::alone(&segment, shown, *alone));
            }
        }
        Ok(Found::only_inside(&segment, shown, *evaluated))
    }

    /// Judges segments as models of their own, whose inputs golden computes.
    fn search_alone(&mut self, boundaries: &[&'a str]) -> Result<Option<Found>, E> {
        let mut values = Values::given(self.subject.graph, self.subject.task);
        let all = self.ends(boundaries);
        let mut ends = all.iter().copied();
        while let Some(end) = ends.next() {
            let Some((found, segment)) = self.wrong_alone(end, &mut values)? else { continue };
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
            return Ok(Some(found.with_behind(&behind)));
        }
        Ok(None)
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

    /// Notes whether the outputs that the segments `composed` are those of the whole model; if `None`, nothing can be said.
    fn account_with(&mut self, composed: Option<&Observation>) {
        let Subject { task, observation, .. } = self.subject;
        if self.subject.is_to_be_accounted_for()
            && composed.is_some_and(|composed| !accounts(composed, observation, task, self.arithmetic))
        {
            self.unaccounted = Some(self.structure.whole());
        }
    }

    /// Where the parts of a segment end, besides where it ends itself.
    fn parts(&self, segment: &Segment<'a>) -> Vec<&'a str> {
        self.in_order(segment.inner_values().filter(|name| !self.structure.is_constant(name)))
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
            let Some((part, _)) = self.wrong_alone(end, values)? else { continue };
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
        match case.judge_observation(self.subject.info, observation) {
            SegmentVerdict::Conforms(blindness) => self.coverage.cover_right(&segment, blindness),
            SegmentVerdict::NotJudged(reason) => self.coverage.miss(&segment, &reason),
            SegmentVerdict::Wrong(evaluated) => {
                self.coverage.cover(&segment);
                return Ok(Some((Found::alone(&segment, Shown::Alone, *evaluated), segment)));
            }
        }
        Ok(None)
    }

    /// As [`Self::wrong_alone`]. Why it is wrong is not asked.
    fn wrong_alone_undiagnosed(
        &mut self,
        end: &'a str,
        values: &mut Values<'a>,
    ) -> Result<Option<WrongBehind<'a>>, E> {
        let Some((segment, case, observation)) = self.observe_alone(end, values)? else { return Ok(None) };
        let verdict = case.compare_alone(self.subject.info, &observation);
        Ok(self.if_wrong(segment, verdict))
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

    /// Looks for nodes that are right if the value between them is observed, and wrong otherwise. `observation` is what the variant
    /// does if `active` are observed: every segment conforms.
    ///
    /// Each search finds one value that makes a difference, and judges the segment in whose middle it lies. If that conforms, the
    /// difference is one of rounding.
    fn search_fused(
        &mut self,
        mut active: Vec<&'a str>,
        observation: Observation,
    ) -> Result<Option<Found>, E> {
        let mut observed = observation;
        for _ in 0..MAX_SEARCHES {
            if active.is_empty() || self.has_same_outputs(&observed) {
                break;
            }
            let different = active.remove(self.last_needed(&active, &observed)?);
            observed = self.observe_with(&active)?;
            let Some(mut values) = self.values(&observed, &active) else { break };
            let known = values.known();
            let mut ends = self.ends(&active);
            ends.retain(|end| {
                let segment = self.structure.segment(end, &known);
                segment.is_ok_and(|segment| segment.inner_values().any(|name| name == different))
            });
            if let Some(wrong) = self.first_wrong(&ends, &mut values) {
                return self.confirm(wrong, &values, Shown::Fused).map(Some);
            }
        }
        Ok(None)
    }

    /// The place of a value in `active` without which, and without those behind it, the outputs are not those of `observed`.
    fn last_needed(&mut self, active: &[&'a str], observed: &Observation) -> Result<usize, E> {
        let (mut differing, mut same) = (0, active.len());
        while same - differing > 1 {
            let middle = differing.midpoint(same);
            if has_outputs_of(&self.observe_with(&active[..middle])?, observed) {
                same = middle;
            } else {
                differing = middle;
            }
        }
        Ok(differing)
    }

    /// Whether the outputs are those of the model of which only they were observed.
    fn has_same_outputs(&self, observation: &Observation) -> bool {
        has_outputs_of(observation, self.subject.observation)
    }
}

impl Subject<'_> {
    /// Whether wrong segments are to account for outputs that are wrong.
    const fn is_to_be_accounted_for(&self) -> bool {
        self.is_wrong && self.looked_into > 0
    }
}

/// The output of a model with one output, in each of so many runs; `None` if there is none.
fn only_outputs(observation: &Observation, runs: usize) -> Option<Vec<Tensor>> {
    let outputs = observation.runs.iter().map(|run| run.outputs.first().cloned());
    outputs.collect::<Option<Vec<_>>>().filter(|outputs| outputs.len() == runs)
}

impl Found {
    /// A segment that is wrong as a model of its own; `shown` says what is known of it in the whole model.
    fn alone(segment: &Segment<'_>, shown: Shown, evaluated: Evaluated) -> Self {
        let culprit = segment.culprit(shown, largest_difference(&evaluated));
        Self { culprit, evaluated, stands_alone: true }
    }

    /// A segment that is wrong under these conditions in the whole model. The variant may conform on it as a model of its own.
    fn only_inside(segment: &Segment<'_>, shown: Shown, evaluated: Evaluated) -> Self {
        let culprit = segment.culprit(shown, largest_difference(&evaluated));
        Self { culprit, evaluated, stands_alone: false }
    }

    /// It, with further wrong segments behind it.
    fn with_behind(mut self, behind: &[WrongBehind<'_>]) -> Self {
        self.culprit.behind.extend(behind.iter().map(WrongBehind::named));
        self
    }
}

fn largest_difference(evaluated: &Evaluated) -> LargestDifference {
    twinfer_checks::largest_difference(&evaluated.references, &evaluated.observation)
}

impl WrongBehind<'_> {
    /// The segment by its names.
    fn named(&self) -> WrongSegment {
        let Segment { output, .. } = self.segment;
        WrongSegment { nodes: self.segment.names(), output: output.to_owned(), difference: self.difference }
    }
}

/// Whether a value that `segment` reads and a node computes is not finite.
fn reads_overflow(segment: &Segment<'_>, values: &Values<'_>) -> bool {
    let computed = segment.inputs.iter().zip(&segment.computed).filter(|(_, is_computed)| **is_computed);
    let mut tensors = computed.filter_map(|(input, _)| values.of(input)).flatten();
    tensors.any(|tensor| tensor.to_f64().iter().any(|number| !number.is_finite()))
}

/// Whether the outputs of every run are the same, bit by bit.
fn has_outputs_of(one: &Observation, other: &Observation) -> bool {
    let bits = |tensor: &Tensor| (tensor.shape.clone(), tensor.to_le_bytes());
    let outputs = |observation: &Observation| -> Vec<_> {
        observation.runs.iter().flat_map(|run| &run.outputs).map(bits).collect()
    };
    outputs(one) == outputs(other)
}
