//! *Likeness*: whether a case that diverges as a minimal case does shows the same bug. Backends have several, also in one operator, and what
//! is learned from a case with another bug is wrong. Nodes that run alone tell: if a node of the minimal case is wrong alone, the same
//! operator is wrong alone in a case with the same bug; if none is, no node of its operators is there.

use std::collections::BTreeSet;

use twinfer_case::{Case, Expectation, Verdict};
use twinfer_checks::Evaluated;

use crate::{
    TriageError,
    cancellation::Purpose,
    diverging_case::DivergingCase,
    isolation::{isolated, isolated_of},
    reduction::{Reduction, ends_workers},
};

/// Nodes that run alone at most in the experiments with a minimal case. Cases that would need more tell nothing.
const MOST_ALONE: usize = 96;

/// After so many cases that show the bug, and none that shows another one, further cases are taken to show it too.
const ENOUGH_ALIKE: usize = 6;

/// Tells whether cases show the bug of a minimal case.
pub struct Likeness<'a> {
    reduction: &'a Reduction<'a>,
    minimal: &'a DivergingCase,
    /// The operator of the node of the minimal case that is wrong alone; `None` if each is right alone.
    wrong_alone: Option<String>,
    /// The nodes that ran alone.
    ran_alone: usize,
    /// The cases whose nodes ran alone and that show the bug.
    alike: usize,
    /// The cases whose nodes ran alone and that show another bug.
    unlike: usize,
}

/// What a case tells about the bug of a minimal case.
#[derive(Default)]
pub struct Lesson {
    /// Whether it shows the bug; `None` if it does not tell.
    pub shows: Option<bool>,
    /// The cases that ran and that may be explained: the case itself, or those of its nodes that show the bug alone.
    pub cases: Vec<Evaluated>,
}

impl<'a> Likeness<'a> {
    /// Finds out whether a node of the minimal case is wrong alone.
    pub fn new(reduction: &'a Reduction<'a>, minimal: &'a DivergingCase) -> Result<Self, TriageError> {
        let mut likeness = Self { reduction, minimal, wrong_alone: None, ran_alone: 0, alike: 0, unlike: 0 };
        let nodes = &minimal.evaluated.encoded.case.graph.nodes;
        let operator = |case: &Case| case.graph.nodes.first().map(|node| node.op.op_type().to_owned());
        likeness.wrong_alone = match nodes.as_slice() {
            [_] => operator(&minimal.evaluated.encoded.case),
            _ if likeness.is_told_apart(&minimal.evaluated.encoded.case) => {
                let wrong = likeness.wrong(isolated(&minimal.evaluated.encoded.case))?;
                wrong.first().and_then(|evaluated| operator(&evaluated.encoded.case))
            }
            _ => None,
        };
        Ok(likeness)
    }

    /// The operator of the node of the minimal case that is wrong alone; `None` if each is right alone.
    pub fn wrong_alone(&self) -> Option<&str> {
        self.wrong_alone.as_deref()
    }

    /// What a case tells about the bug.
    pub fn lesson(&mut self, evaluated: Evaluated) -> Result<Lesson, TriageError> {
        if evaluated.divergences().is_empty() {
            let conforms = evaluated.judgement.verdict == Verdict::Conforms;
            return Ok(Lesson { shows: conforms.then_some(false), cases: vec![evaluated] });
        }
        let symptom = &self.minimal.symptom;
        let Some(shown) = symptom.recurring_in(&evaluated) else { return Ok(Lesson::default()) };
        if symptom.fails_otherwise(&shown) {
            return Ok(Lesson::default());
        }
        let is_explained_alike = shown.diagnosis().iter().any(|name| symptom.diagnosis().contains(name));
        let case = &evaluated.encoded.case;
        let has_one_bug = self.alike >= ENOUGH_ALIKE && self.unlike == 0;
        if is_explained_alike || has_one_bug || !self.is_told_apart(case) {
            return Ok(Lesson::showing(vec![evaluated]));
        }
        let nodes = isolated_of(case, &self.operators());
        if self.ran_alone + nodes.len() > MOST_ALONE {
            return Ok(Lesson::default());
        }
        let wrong = self.wrong(nodes)?;
        let is_alike = self.wrong_alone.is_some() != wrong.is_empty();
        self.alike += usize::from(is_alike);
        self.unlike += usize::from(!is_alike);
        Ok(match (is_alike, wrong.is_empty()) {
            (true, true) => Lesson::showing(vec![evaluated]),
            (true, false) => Lesson::showing(wrong),
            (false, _) => Lesson::default(),
        })
    }

    /// The operators whose nodes tell: the one that is wrong alone, or all of the minimal case.
    fn operators(&self) -> BTreeSet<&str> {
        let nodes = &self.minimal.evaluated.encoded.case.graph.nodes;
        let all = nodes.iter().map(|node| node.op.op_type());
        all.filter(|operator| self.wrong_alone().is_none_or(|wrong| wrong == *operator)).collect()
    }

    /// The nodes that show the symptom of the minimal case.
    fn wrong(&mut self, nodes: Vec<Case>) -> Result<Vec<Evaluated>, TriageError> {
        self.ran_alone += nodes.len();
        let symptom = &self.minimal.symptom;
        let mut ran = self.reduction.run_warm(Purpose::Trigger, nodes, symptom)?;
        ran.retain(|evaluated| symptom.recurring_in(evaluated).is_some());
        Ok(ran)
    }

    /// Whether the nodes of a case run alone: each that ends a worker would cost one.
    fn is_told_apart(&self, case: &Case) -> bool {
        case.graph.nodes.len() > 1
            && case.expectation == Expectation::Valid
            && !ends_workers(&self.minimal.symptom)
    }
}

impl Lesson {
    const fn showing(cases: Vec<Evaluated>) -> Self {
        Self { shows: Some(true), cases }
    }
}
