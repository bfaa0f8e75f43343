//! *Likeness*: whether a case that diverges as a minimal case does shows the same bug. Backends have several, also in one operator, and what
//! is learned from a case with another bug is wrong. Nodes that run alone tell: where a node alone is wrong, a minimal case of one node
//! shows the same, and one of several nodes, each of which is right alone, does not.

use twinfer_case::{Case, Expectation, Kind};
use twinfer_checks::Evaluated;

use crate::{
    TriageError,
    cancellation::Purpose,
    diverging_case::DivergingCase,
    isolation::{isolated, isolated_of},
    reduction::Reduction,
};

/// What a case tells about the bug of a minimal case.
pub enum Shown {
    /// It shows the bug, or its nodes that ran alone do: the cases that show it.
    Same(Vec<Evaluated>),
    /// It does not diverge.
    Nothing(Evaluated),
    /// It shows another bug, or may do so.
    Unknown,
}

impl Reduction<'_> {
    /// What `evaluated`, a case with the operator called `operator`, tells about the bug of `minimal`.
    pub fn shown(
        &self,
        minimal: &DivergingCase,
        operator: &str,
        evaluated: Evaluated,
    ) -> Result<Shown, TriageError> {
        if evaluated.divergences().is_empty() {
            return Ok(Shown::Nothing(evaluated));
        }
        if minimal.symptom.recurring_in(&evaluated).is_none() {
            return Ok(Shown::Unknown);
        }
        let case = &evaluated.encoded.case;
        let is_told_apart = case.graph.nodes.len() > 1
            && case.expectation == Expectation::Valid
            && !matches!(minimal.symptom.kind(), Kind::Hang | Kind::Crash);
        if !is_told_apart {
            return Ok(Shown::Same(vec![evaluated]));
        }
        if minimal.evaluated.encoded.case.graph.nodes.len() == 1 {
            let alone = self.showing(minimal, isolated_of(case, operator))?;
            return Ok(if alone.is_empty() { Shown::Unknown } else { Shown::Same(alone) });
        }
        let alone = self.showing(minimal, isolated(case))?;
        Ok(if alone.is_empty() { Shown::Same(vec![evaluated]) } else { Shown::Unknown })
    }

    /// Those of `cases` that show the symptom of `minimal`.
    fn showing(&self, minimal: &DivergingCase, cases: Vec<Case>) -> Result<Vec<Evaluated>, TriageError> {
        let mut ran = self.run_warm(Purpose::Trigger, cases, &minimal.symptom)?;
        ran.retain(|evaluated| minimal.symptom.recurring_in(evaluated).is_some());
        Ok(ran)
    }
}
