//! *Diagnosis*: the mutants of golden that reproduce a backend's output.

mod documentation;
mod fallback;
mod fit;
mod halves;

use twinfer_case::{Description, Diagnosis, EncodedCase, Kind, Observation, ReproducingMutant, Verdict};
use twinfer_golden::{Arithmetic, Explanation as Mistake};

use crate::{Judgement, References};

use fit::{Fit, unexplained};

/// What is to be explained.
#[derive(Clone, Copy)]
pub struct Outcome<'a> {
    /// The case.
    pub encoded: &'a EncodedCase,
    /// What should have come out, run by run.
    pub references: &'a References,
    /// What did.
    pub observation: &'a Observation,
    /// How whoever did it computes.
    pub arithmetic: Arithmetic,
    /// What they say of themselves.
    pub description: &'a Description,
}

/// Adds to every divergence of shapes or values why. Values that rounded operands explain are no error: they become a
/// precision fallback.
pub fn explain(judgement: &mut Judgement, outcome: &Outcome<'_>) {
    let Verdict::Diverges(divergences) = &mut judgement.verdict else { return };
    let mut compared = divergences
        .iter_mut()
        .filter(|divergence| matches!(divergence.kind, Kind::WrongValues | Kind::WrongShape))
        .peekable();
    if compared.peek().is_none() {
        return;
    }
    let diagnosis = diagnose(outcome);
    let is_of_precision = is_of_precision(&diagnosis);
    for divergence in compared {
        if is_of_precision {
            divergence.kind = Kind::PrecisionFallback;
        }
        divergence.diagnosis = Some(diagnosis.clone());
    }
    documentation::document(divergences, &diagnosis, outcome.description, &outcome.encoded.case.graph);
    fallback::settle(divergences, &diagnosis);
}

/// Why an output or its shape is not golden's.
fn diagnose(outcome: &Outcome<'_>) -> Diagnosis {
    let fits = fits(outcome);
    let closest = fits.iter().map(|(_, fit)| fit).min_by(|one, other| one.share.total_cmp(&other.share));
    let alike = fits.iter().filter(|(_, fit)| closest.is_some_and(|closest| fit.is_like(closest)));
    let alike: Vec<Mistake> = alike.map(|(mistake, _)| *mistake).collect();
    let least = alike.iter().filter(|mistake| !alike.iter().any(|other| other.is_part_of(mistake)));
    Diagnosis {
        mutants: least.map(|mistake| reproducing(*mistake)).collect(),
        residual: closest.and_then(|closest| closest.residual),
        unexplained: unexplained(outcome),
    }
}

/// What reproduces an output: one mistake; failing that, several at once, none of which can be left out. Coarse arithmetic
/// is asked last: its wide bounds hold much that is something else. Together with a mistake it is asked before, and counts
/// where it does not do alone.
fn fits(outcome: &Outcome<'_>) -> Vec<(Mistake, Fit)> {
    let fit = |mistake: Mistake| Some((mistake, Fit::of(mistake.mutants, outcome)?));
    let fitting = |mistakes: Vec<Mistake>| -> Vec<_> { mistakes.into_iter().filter_map(fit).collect() };
    let (coarse_singles, singles) = Mistake::singles().partition(Mistake::is_precision);
    let (coarse_combinations, combinations) = Mistake::combinations().partition(Mistake::is_precision);
    let single = fitting(singles);
    if !single.is_empty() {
        return single;
    }
    let (several, coarse) = (fitting(combinations), fitting(coarse_singles));
    let needs_all = |(mistake, _): &&(Mistake, Fit)| {
        !several.iter().chain(&coarse).any(|(other, _)| other.is_part_of(mistake))
    };
    let needed: Vec<_> = several.iter().filter(needs_all).copied().collect();
    if !needed.is_empty() {
        return needed;
    }
    if coarse.is_empty() { fitting(coarse_combinations) } else { coarse }
}

fn reproducing(mistake: Mistake) -> ReproducingMutant {
    ReproducingMutant { name: mistake.name.to_owned(), clause: clause(mistake.sentence) }
}

/// Whether a mutant that rounds operands, and nothing else, explains it.
fn is_of_precision(diagnosis: &Diagnosis) -> bool {
    let is_precision = |name| Mistake::from_name(name).is_some_and(|mistake| mistake.is_precision());
    !diagnosis.mutants.is_empty() && diagnosis.mutant_names().all(is_precision)
}

/// A sentence as it stands behind "if".
fn clause(sentence: &str) -> String {
    const OPERATORS: [&str; 6] =
        ["Add", "BatchNormalization", "Concat", "DequantizeLinear", "QuantizeLinear", "Relu"];
    let sentence = sentence.trim_end_matches('.');
    let begins_with_name = OPERATORS.iter().any(|name| sentence.split(' ').next() == Some(name));
    match sentence.chars().next() {
        Some(first) if !begins_with_name => {
            first.to_lowercase().chain(sentence[first.len_utf8()..].chars()).collect()
        }
        _ => sentence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_become_clauses_and_operators_keep_their_names() {
        assert_eq!(clause("The bias is not added."), "the bias is not added");
        assert_eq!(clause("QuantizeLinear rounds toward zero."), "QuantizeLinear rounds toward zero");
        assert_eq!(clause("`ceil_mode` is ignored."), "`ceil_mode` is ignored");
    }
}
