//! What a suspect turns out to be, as far as that is known.
//!
//! The dispatcher decides suspects in case order, with all that earlier cases came to. The lookahead of the triage queue makes the
//! same decisions in advance, with what is known by then, so that most investigations have ended when their turn comes.

use std::sync::Arc;

use twinfer_case::CaseHash;
use twinfer_triage::{
    Catalog, Confirmed, Effort, Identity, Provisional, Reduced, TriageOutcome, TriageResult,
};

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

impl Counts {
    /// For the case at `index`, if every case before `end` has its verdicts and every case before `index` is counted.
    pub const fn at(index: u64, end: u64) -> Self {
        if index < end { Self::Complete } else { Self::Partial }
    }
}

/// Decides a suspect of `case` that looks `provisional`ly like this, whose case showed the finding `lower` at a weaker option, given the `result`
/// of its investigation if there is one.
pub fn decide<'a>(
    catalog: &Catalog,
    counts: Counts,
    case: CaseHash,
    provisional: &Provisional,
    lower: Option<usize>,
    result: Option<&'a TriageResult>,
) -> Decision<'a> {
    let likely = catalog.find_likely(provisional);
    let is_countable = lower.is_none() && counts == Counts::Complete;
    let hidden_behind =
        likely.filter(|_| is_countable).and_then(|known| catalog.due_to_look_behind(known, case).cloned());
    match (likely, lower) {
        (Some(known), _) if hidden_behind.is_none() => return Decision::Known(known),
        (None, Some(lower)) => return Decision::Repeats(lower),
        _ => {}
    }
    if let (None, Some(known)) = (likely, catalog.find_masked(provisional, case)) {
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
            if let Some(shown) = catalog.find_reduced(reduced) =>
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

#[cfg(test)]
mod tests {
    use twinfer_case::{Cause, Kind, Signature, Stage};

    use super::*;

    /// The signature of wrong values with this cause.
    fn signature(cause: Cause) -> Signature {
        let backend = "ort:cpu".parse::<twinfer_case::Variant>().expect("a variant").backend;
        Signature { backend, stage: Stage::Execute, kind: Kind::WrongValues, cause, error: None }
    }

    /// A case that is drawn with any chance.
    fn drawn() -> CaseHash {
        "0".repeat(64).parse().expect("a hash")
    }

    /// A case that is drawn with certainty alone.
    fn not_drawn() -> CaseHash {
        "f".repeat(64).parse().expect("a hash")
    }

    fn graph(classes: &[&str]) -> Signature {
        signature(Cause::Graph(classes.iter().map(|&class| class.to_owned()).collect()))
    }

    fn diagnosis(mutant: &str) -> Signature {
        signature(Cause::Diagnosis(vec![mutant.to_owned()]))
    }

    /// A catalog with one finding whose minimal case has this signature, shown by so many cases.
    fn catalog(signature: Signature, cases: u64) -> Catalog {
        let classes = match &signature.cause {
            Cause::Graph(classes) => classes.clone(),
            _ => Vec::new(),
        };
        let mut catalog = Catalog::default();
        let (outcomes, trigger, nodes) = (Vec::new(), None, Vec::new());
        let index = catalog.add(Arc::new(Identity {
            signature,
            classes,
            broken_by: None,
            outcomes,
            trigger,
            edits: Vec::new(),
            refuted: Vec::new(),
            nodes,
        }));
        catalog.count(index, cases);
        catalog
    }

    /// An investigation that found nothing behind the finding at `index`.
    fn nothing_behind(catalog: &Catalog, index: usize) -> TriageResult {
        let hidden_behind = catalog.due_to_look_behind(index, drawn()).cloned();
        TriageResult { hidden_behind, outcome: TriageOutcome::Nothing, effort: Effort::default() }
    }

    #[test]
    fn suspect_like_a_known_finding_counts_for_it() {
        let catalog = catalog(diagnosis("bias-dropped"), 1);
        let decision =
            decide(&catalog, Counts::Complete, drawn(), &diagnosis("bias-dropped").into(), None, None);
        assert!(matches!(decision, Decision::Known(0)));
    }

    #[test]
    fn suspect_like_nothing_known_is_investigated() {
        let catalog = catalog(diagnosis("bias-dropped"), 1);
        let decision =
            decide(&catalog, Counts::Complete, drawn(), &diagnosis("pads-swapped").into(), None, None);
        let Decision::Investigate(question) = decision else { panic!("it is not investigated") };
        assert!(question.hidden_behind.is_none() && question.meanwhile.is_none());
    }

    #[test]
    fn divergence_on_a_rung_repeats_the_one_below() {
        let decision =
            decide(&Catalog::default(), Counts::Complete, drawn(), &graph(&["Conv"]).into(), Some(7), None);
        assert!(matches!(decision, Decision::Repeats(7)));
    }

    #[test]
    fn drawn_case_of_an_unexplained_finding_is_looked_behind() {
        let catalog = catalog(graph(&["Conv"]), 1);
        let (known, suspect) = (catalog.due_to_look_behind(0, drawn()).cloned(), graph(&["Conv", "group"]));
        let decision = decide(&catalog, Counts::Complete, drawn(), &suspect.clone().into(), None, None);
        let Decision::Investigate(question) = decision else { panic!("it is not investigated") };
        assert!(known.is_some() && question.hidden_behind == known);
        assert_eq!(question.meanwhile, Some(0));
    }

    #[test]
    fn partial_counts_never_ask_for_a_look_behind() {
        let catalog = catalog(graph(&["Conv"]), 1);
        let decision =
            decide(&catalog, Counts::Partial, drawn(), &graph(&["Conv", "group"]).into(), None, None);
        assert!(matches!(decision, Decision::Known(0)));
    }

    #[test]
    fn nothing_behind_a_known_finding_counts_for_it() {
        let catalog = catalog(graph(&["Conv"]), 1);
        let result = nothing_behind(&catalog, 0);
        let decision =
            decide(&catalog, Counts::Complete, drawn(), &graph(&["Conv"]).into(), None, Some(&result));
        assert!(matches!(decision, Decision::Triaged(Triaged::OnlyKnown(0), _)));
    }

    #[test]
    fn result_of_another_question_is_not_used() {
        let catalog = catalog(graph(&["Conv"]), 1);
        let result = TriageResult { hidden_behind: None, ..nothing_behind(&catalog, 0) };
        let decision =
            decide(&catalog, Counts::Complete, drawn(), &graph(&["Conv"]).into(), None, Some(&result));
        assert!(matches!(decision, Decision::Investigate(_)));
    }

    #[test]
    fn masked_case_counts_for_the_finding_unless_it_is_drawn() {
        let mut catalog = catalog(diagnosis("bias-dropped"), 1);
        let suspect = graph(&["Conv"]);
        let guise = catalog.guise(0, &suspect.clone().into()).expect("no mutant explains it");
        catalog.count_masked(0, &guise, 2);
        let decision = decide(&catalog, Counts::Complete, not_drawn(), &suspect.clone().into(), None, None);
        assert!(matches!(decision, Decision::Known(0)));
        let decision = decide(&catalog, Counts::Complete, drawn(), &suspect.clone().into(), None, None);
        let Decision::Investigate(question) = decision else { panic!("it is not investigated") };
        assert_eq!((question.hidden_behind, question.meanwhile), (None, Some(0)));
    }
}
