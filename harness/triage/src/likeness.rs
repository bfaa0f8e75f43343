//! *Likeness*: whether a case that diverges as a minimal case does shows the same bug. Backends have several, also in one operator, and what
//! is learned from a case with another bug is wrong. Nodes that run alone tell: where a node alone is wrong, a minimal case of one node
//! shows the same, and one of several nodes, each of which is right alone, does not.

use twinfer_case::{Case, Expectation, Kind, Verdict};
use twinfer_checks::Evaluated;

use crate::{
    TriageError,
    cancellation::Purpose,
    diverging_case::DivergingCase,
    isolation::{isolated, isolated_of},
    reduction::Reduction,
};

/// Nodes that run alone at most in the experiments with a minimal case. Cases that would need more tell nothing.
const MOST_ALONE: usize = 96;

/// What a case tells about the bug of a minimal case.
#[derive(Default)]
pub struct Lesson {
    /// Whether it shows the bug; `None` if it does not tell.
    pub shows: Option<bool>,
    /// The cases that ran and that may be explained: the case itself, or those of its nodes that show the bug alone.
    pub cases: Vec<Evaluated>,
}

impl Reduction<'_> {
    /// What `evaluated`, a case with the operator called `operator`, tells about the bug of `minimal`. `ran_alone` counts nodes that ran alone.
    pub fn lesson(
        &self,
        minimal: &DivergingCase,
        operator: &str,
        evaluated: Evaluated,
        ran_alone: &mut usize,
    ) -> Result<Lesson, TriageError> {
        if evaluated.divergences().is_empty() {
            let conforms = evaluated.judgement.verdict == Verdict::Conforms;
            return Ok(Lesson { shows: conforms.then_some(false), cases: vec![evaluated] });
        }
        let Some(shown) = minimal.symptom.recurring_in(&evaluated) else { return Ok(Lesson::default()) };
        let case = &evaluated.encoded.case;
        let is_explained_alike =
            shown.diagnosis().iter().any(|name| minimal.symptom.diagnosis().contains(name));
        if is_explained_alike || !is_told_apart(minimal, case) {
            return Ok(Lesson::showing(vec![evaluated]));
        }
        let is_one_node = minimal.evaluated.encoded.case.graph.nodes.len() == 1;
        let nodes = if is_one_node { isolated_of(case, operator) } else { isolated(case) };
        *ran_alone += nodes.len();
        if *ran_alone > MOST_ALONE {
            return Ok(Lesson::default());
        }
        let alone = self.showing(minimal, nodes)?;
        Ok(match (is_one_node, alone.is_empty()) {
            (true, false) => Lesson::showing(alone),
            (false, true) => Lesson::showing(vec![evaluated]),
            _ => Lesson::default(),
        })
    }

    /// Those of `cases` that show the symptom of `minimal`.
    fn showing(&self, minimal: &DivergingCase, cases: Vec<Case>) -> Result<Vec<Evaluated>, TriageError> {
        let mut ran = self.run_warm(Purpose::Trigger, cases, &minimal.symptom)?;
        ran.retain(|evaluated| minimal.symptom.recurring_in(evaluated).is_some());
        Ok(ran)
    }
}

impl Lesson {
    const fn showing(cases: Vec<Evaluated>) -> Self {
        Self { shows: Some(true), cases }
    }
}

/// Whether the nodes of `case` run alone to tell its bug from that of `minimal`: each that ends a worker would cost one.
fn is_told_apart(minimal: &DivergingCase, case: &Case) -> bool {
    case.graph.nodes.len() > 1
        && case.expectation == Expectation::Valid
        && !matches!(minimal.symptom.kind(), Kind::Hang | Kind::Crash)
}
