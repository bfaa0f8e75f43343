//! What a suspect turns out to be, as far as that is known.
//!
//! The dispatcher decides suspects in case order, with all that earlier cases came to. The lookahead of the triage queue makes the
//! same decisions in advance, with what is known by then, so that most investigations have ended when their turn comes.

use std::sync::Arc;

use twinfer_triage::{Catalog, Confirmed, Effort, Identity, Reduced, Suspect, TriageOutcome, TriageResult};

/// What a suspect turns out to be. Findings are given by their index in the catalog.
pub enum Decision<'a> {
    /// It shows a known finding.
    Known(usize),
    /// It shows at a stronger option what its case already showed below: that finding.
    Repeats(usize),
    /// An investigation found out.
    Triaged(Triaged<'a>, Effort),
    /// It has to be investigated first.
    Investigate(Question),
    /// It was reduced to what an earlier case was expected to confirm and did not: it has to be confirmed first.
    Confirm(Question),
}

/// What an investigation found.
pub enum Triaged<'a> {
    /// Nothing but a known finding.
    OnlyKnown(usize),
    /// The minimal case shows the finding `shown`; the case counts for `counts_for`.
    Reduced { shown: usize, counts_for: usize, reduced: &'a Reduced },
    /// A new finding. The case also counts for the known finding that hid it, if there is one.
    New { confirmed: &'a Confirmed, reduced: &'a Reduced, hidden_behind: Option<usize> },
}

/// What an investigation is to find out.
pub struct Question {
    /// The known finding behind which another bug may hide; `None` if the suspect resembles no known finding.
    pub hidden_behind: Option<Arc<Identity>>,
    /// The finding that the suspect counts for if there is no time to investigate it.
    pub meanwhile: Option<usize>,
}

/// Whether the catalog counts every earlier case: only then is it known which case of a finding is due for another look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    Complete,
    Partial,
}

/// Decides a suspect whose case showed the finding `lower` at a weaker option, given the `result` of its investigation if there is
/// one.
pub fn decide<'a>(
    catalog: &Catalog,
    counts: Counts,
    suspect: &Suspect,
    lower: Option<usize>,
    result: Option<&'a TriageResult>,
) -> Decision<'a> {
    let provisional = &suspect.provisional;
    let likely = catalog.find_likely(provisional);
    let is_countable = lower.is_none() && counts == Counts::Complete;
    let hidden_behind =
        likely.filter(|_| is_countable).and_then(|known| catalog.due_to_look_behind(known).cloned());
    match (likely, lower) {
        (Some(known), _) if hidden_behind.is_none() => return Decision::Known(known),
        (None, Some(lower)) => return Decision::Repeats(lower),
        _ => {}
    }
    if let (None, Some(known)) = (likely, catalog.find_masked(provisional)) {
        return Decision::Known(known);
    }
    let meanwhile = likely.or_else(|| catalog.masked_by(provisional));
    let question = Question { hidden_behind, meanwhile };
    match result.filter(|result| result.hidden_behind == question.hidden_behind) {
        Some(result) => decide_triaged(catalog, likely, question, result),
        None => Decision::Investigate(question),
    }
}

fn decide_triaged<'a>(
    catalog: &Catalog,
    likely: Option<usize>,
    question: Question,
    result: &'a TriageResult,
) -> Decision<'a> {
    let triaged = match (&result.outcome, likely) {
        (TriageOutcome::Nothing, Some(known)) => Triaged::OnlyKnown(known),
        (TriageOutcome::Nothing, None) => return Decision::Investigate(question),
        (TriageOutcome::Reduced(reduced) | TriageOutcome::Confirmed(reduced, _), _)
            if let Some(shown) = catalog.find(&reduced.identity.signature) =>
        {
            Triaged::Reduced { shown, counts_for: likely.unwrap_or(shown), reduced }
        }
        (TriageOutcome::Reduced(_), _) => return Decision::Confirm(question),
        (TriageOutcome::Confirmed(_, confirmed), Some(known)) if !confirmed.recurs => {
            Triaged::OnlyKnown(known)
        }
        (TriageOutcome::Confirmed(reduced, confirmed), hidden_behind) => {
            Triaged::New { confirmed, reduced, hidden_behind }
        }
    };
    Decision::Triaged(triaged, result.effort)
}
