//! *Scrutiny*: judging a case segment by segment, where the comparison of its outputs is not enough.

use twinfer_case::{
    Description, Divergence, Effect, Expectation, Kind, Note, Observation, Outcome, Stage, Task, VariantInfo,
    Verdict,
};
use twinfer_checks::{Evaluated, golden, references};
use twinfer_onnx::PartialGraph;
use twinfer_segments::{
    Cutting, Examination, Found, Subject, are_unexplained, blindness, conclude, examine, exposed,
    has_segments, is_documented, is_exact,
};
use twinfer_workers::{TriageWorkers, WorkerError};

use crate::{causes::leads, symptom::Symptom};

/// How many of the wrong segments behind the first are looked into, where the outputs are not explained.
const LOOKED_INTO: usize = 8;

/// Which cases are judged segment by segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scrutiny {
    /// Cases whose comparison of outputs is blind to errors that are large in proportion to the outputs, unless these are wrong and
    /// explained, and no limitation could explain them better.
    #[default]
    Blind,
    /// Cases whose outputs are not known exactly, and cases whose outputs are wrong.
    Rounded,
}

/// What is left to triage of a case that was judged segment by segment.
pub struct Triageable {
    /// The whole case.
    pub whole: Whole,
    /// Segments of the case as cases of their own, on which the variant diverges for different reasons, in the order of the graph. The outputs of
    /// the whole case did not show it, or did not show why.
    pub segments: Vec<Evaluated>,
}

/// What is left to triage of a whole case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// Every divergence: no segment shows them better.
    All,
    /// Every divergence, and those of the segments too: these are wrong, but do not account for the outputs.
    Unaccounted,
    /// Every divergence, those of a segment that is wrong only inside the case included.
    Inside,
    /// The divergences without a culprit; segments show the others.
    Rest,
}

impl Triageable {
    /// What is left of a case that was not judged segment by segment.
    pub const fn unexamined() -> Self {
        Self { whole: Whole::All, segments: Vec::new() }
    }
}

impl Whole {
    /// The symptoms that are left of the case of `evaluated`, one for each cause, each with the index of its divergence.
    pub(crate) fn symptoms(self, evaluated: &Evaluated) -> Vec<(usize, Symptom)> {
        let divergences = evaluated.divergences();
        let symptom = |lead: usize| {
            let divergence = &divergences[lead];
            let symptom = match self {
                Self::All | Self::Unaccounted => Symptom::of(divergence, evaluated),
                Self::Inside => Symptom::inside(divergence, evaluated),
                Self::Rest if divergence.culprit.is_none() => Symptom::of(divergence, evaluated),
                Self::Rest => return None,
            };
            Some((lead, symptom))
        };
        leads(divergences).into_iter().filter_map(symptom).collect()
    }
}

impl Scrutiny {
    /// Judges the case of `evaluated` segment by segment if it needs that, in warm workers of its variant, and adds to its judgement what
    /// that shows. What shows only inside the case is looked for in outputs once more, of cases that [return values inside](exposed).
    pub fn apply(
        self,
        workers: &TriageWorkers,
        evaluated: &mut Evaluated,
    ) -> Result<Triageable, WorkerError> {
        let observe = &mut |task: &Task| workers.observe_warm(task);
        let (mut whole, Examination { mut found, others, .. }) =
            self.examine(workers.info(), evaluated, observe)?;
        if whole == Whole::Inside
            && let Some(inside) = &mut found
            && let Some(exposed) = expose(inside, evaluated, workers.info(), observe)?
        {
            (whole, inside.evaluated) = (Whole::Rest, exposed);
        }
        let is_of_segment = matches!(whole, Whole::Rest | Whole::Unaccounted);
        let mut segments: Vec<_> = found.filter(|_| is_of_segment).into_iter().collect();
        for other in others {
            if other.stands_alone {
                segments.push(other);
            } else if let Some(exposed) = expose(&other, evaluated, workers.info(), observe)? {
                segments.push(Found { evaluated: exposed, ..other });
            }
        }
        Ok(Triageable { whole, segments: segments.into_iter().map(Found::into_case).collect() })
    }

    /// Judges a case segment by segment if it needs that, on the variant of `info`, which runs tasks as `observe` does: what is left to triage of
    /// the whole case, and what the segments show.
    pub(crate) fn examine(
        self,
        info: &VariantInfo,
        evaluated: &mut Evaluated,
        observe: &mut dyn FnMut(&Task) -> Result<Observation, WorkerError>,
    ) -> Result<(Whole, Examination), WorkerError> {
        let Some(graph) = self.graph_to_examine(evaluated, &info.description) else {
            return Ok((Whole::All, Examination::default()));
        };
        let is_wrong = evaluated.divergences().iter().any(Divergence::concerns_values);
        let is_unexplained = are_unexplained(evaluated.divergences());
        let asks_why = self == Self::Rounded && (!is_wrong || is_unexplained);
        let subject = Subject {
            info,
            graph: &graph,
            task: &evaluated.encoded.task,
            observation: &evaluated.observation,
            is_wrong,
            cutting: match self {
                Self::Blind => Cutting::IfSuspicious(&evaluated.encoded.case.graph),
                Self::Rounded => Cutting::Always,
            },
            looked_into: if asks_why { LOOKED_INTO } else { 0 },
        };
        let examination = examine(subject, observe)?;
        let explains = |found: &Found| found.explanation_of(evaluated.divergences()).is_some();
        let is_explained_by_segment = examination.found.as_ref().is_some_and(explains);
        conclude(&mut evaluated.judgement, info, &examination);
        let whole = match &examination.found {
            Some(found) if found.stands_alone && examination.unaccounted.is_some() => Whole::Unaccounted,
            Some(found) if found.stands_alone && (!is_wrong || is_unexplained || is_explained_by_segment) => {
                Whole::Rest
            }
            Some(_) if !is_wrong => Whole::Inside,
            _ => Whole::All,
        };
        Ok((whole, examination))
    }

    /// The graph of a case that needs to be judged segment by segment. Notes what the comparison of its outputs cannot see.
    fn graph_to_examine(self, evaluated: &mut Evaluated, description: &Description) -> Option<PartialGraph> {
        if !is_compared(evaluated) {
            return None;
        }
        let blindness = blindness(&evaluated.references);
        evaluated.judgement.notes.extend(blindness.map(Note::Blind));
        let is_wrong = evaluated.divergences().iter().any(Divergence::concerns_values);
        let is_open = !is_wrong
            || are_unexplained(evaluated.divergences())
            || may_be_documented(evaluated, description);
        let is_needed = match self {
            Self::Blind => blindness.is_some() && is_open,
            Self::Rounded => !is_exact(&evaluated.references) || is_wrong,
        };
        let graph = is_needed.then(|| PartialGraph::from(&evaluated.encoded.case.graph))?;
        has_segments(&graph).then_some(graph)
    }
}

/// A case that shows at its outputs what was `found` inside that of `evaluated`, because it returns values inside; `None` if none does.
fn expose(
    found: &Found,
    evaluated: &Evaluated,
    info: &VariantInfo,
    observe: &mut dyn FnMut(&Task) -> Result<Observation, WorkerError>,
) -> Result<Option<Evaluated>, WorkerError> {
    for encoded in exposed(&evaluated.encoded.case, &found.culprit) {
        let observation = observe(&encoded.task)?;
        let references = references(&encoded, &golden(), info.description.arithmetic);
        let evaluated = Evaluated::new(info, encoded, references, observation);
        if evaluated.divergences().iter().any(Divergence::concerns_values) {
            return Ok(Some(evaluated));
        }
    }
    Ok(None)
}

/// Whether a limitation of the backend concerns the case, but not what explains its outputs.
fn may_be_documented(evaluated: &Evaluated, description: &Description) -> bool {
    let graph = &evaluated.encoded.case.graph;
    let mut limitations = graph.nodes.iter().flat_map(|node| description.limitations_at(graph, node));
    !evaluated.divergences().iter().any(is_documented)
        && limitations.any(|limitation| limitation.effect == Effect::WrongValues)
}

/// Whether the outputs of a case were compared with golden's, and nothing else speaks against it.
fn is_compared(evaluated: &Evaluated) -> bool {
    let Evaluated { encoded, observation, judgement, .. } = evaluated;
    let is_of_values = |divergence: &Divergence| {
        matches!(divergence.kind, Kind::WrongValues | Kind::WrongShape | Kind::PrecisionFallback)
    };
    encoded.case.expectation == Expectation::Valid
        && observation.outcome == Outcome::Ok
        && observation.stage == Stage::Execute
        && match &judgement.verdict {
            Verdict::Conforms | Verdict::Vacuous => true,
            Verdict::Diverges(divergences) => divergences.iter().all(is_of_values),
            Verdict::Unsupported(_)
            | Verdict::Unspecified(_)
            | Verdict::NoReference(_)
            | Verdict::LeftOut(_) => false,
        }
}
