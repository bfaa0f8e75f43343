mod alone;
mod fused;
mod in_place;

use std::{collections::HashSet, ops::Range};

use twinfer_case::{
    Arithmetic, Culprit, Divergence, Observation, Outcome, SegmentCounts, Shown, Task, VariantInfo,
    WrongSegment,
};
use twinfer_checks::Evaluated;
use twinfer_onnx::{Graph, PartialGraph};

use crate::{
    composition::accounts,
    coverage::Coverage,
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

/// Whether a graph has values to observe, so that it has segments besides itself.
pub fn has_segments(graph: &PartialGraph) -> bool {
    !Structure::of(graph).boundaries().is_empty()
}

/// Whether golden may support a part of a graph that it does not support as a whole: a segment, or, of a graph with unknown operators, all that an
/// output depends on.
pub fn has_supported_part(graph: &PartialGraph) -> bool {
    let structure = Structure::of(graph);
    let given: HashSet<&str> = graph.inputs.iter().map(|input| input.name.as_str()).collect();
    let mut outputs = structure.computed_outputs();
    let has_unknown = graph.nodes.iter().any(|node| node.op().is_none());
    !structure.boundaries().is_empty()
        || has_unknown && outputs.any(|output| structure.segment(output, &given).is_ok())
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
            let (alone, in_place) = match self.judge_alone(&case, observation) {
                SegmentVerdict::Wrong(alone) => {
                    let alone = Found::alone(segment, Shown::Alone, *alone);
                    let in_place = in_place().filter(|found| !self.explains(&alone, &found.evaluated));
                    (Some(alone), in_place)
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

    /// Where the parts of a segment end, besides where it ends itself.
    fn parts(&self, segment: &Segment<'a>) -> Vec<&'a str> {
        self.in_order(segment.inner_values().filter(|name| !self.structure.is_constant(name)))
    }

    /// What a segment shows inside the whole model, whether or not it is wrong as a model of its own; `None` if nothing.
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

    /// Whether a segment that is wrong as a model of its own is wrong in the same way inside the whole model, as far as that is asked. That it
    /// only runs in another precision explains no wrong value.
    fn explains(&self, alone: &Found, in_place: &Evaluated) -> bool {
        let Evaluated { observation, encoded, .. } = &alone.evaluated;
        let accounts = || accounts(observation, &in_place.observation, &encoded.task, self.arithmetic);
        !alone.keeps_values() && (self.subject.looked_into == 0 || accounts())
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
}

impl Subject<'_> {
    /// Whether wrong segments are to account for outputs that are wrong.
    const fn is_to_be_accounted_for(&self) -> bool {
        self.is_wrong && self.looked_into > 0
    }
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
