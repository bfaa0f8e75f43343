//! *Diagnosis*: the mutants of golden that reproduce a backend's output.

mod fallback;
mod fit;

use twinfer_case::{Diagnosis, Explanation, Kind, Observation, Verdict};
use twinfer_checks::Judgement;
use twinfer_golden::Explanation as Mistake;

use crate::prepared::{Prepared, References};

use fit::{Fit, unexplained};

/// Adds to every divergence of shapes or values why. Values that rounded operands explain are no error: they become a
/// precision fallback.
pub fn explain(
    judgement: &mut Judgement,
    prepared: &Prepared,
    references: &References,
    observation: &Observation,
) {
    let Verdict::Diverges(divergences) = &mut judgement.verdict else { return };
    let mut compared = divergences
        .iter_mut()
        .filter(|divergence| matches!(divergence.kind, Kind::WrongValues | Kind::WrongShape))
        .peekable();
    if compared.peek().is_none() {
        return;
    }
    let diagnosis = diagnose(prepared, references, observation);
    let is_of_precision = is_of_precision(&diagnosis);
    for divergence in compared {
        if is_of_precision {
            divergence.kind = Kind::PrecisionFallback;
        }
        divergence.diagnosis = Some(diagnosis.clone());
    }
    fallback::settle(divergences, &diagnosis);
}

/// Why an output or its shape is not golden's: one mistake; failing that, several at once; failing that, coarse
/// arithmetic, whose wide bounds hold much that is something else.
fn diagnose(prepared: &Prepared, references: &References, observation: &Observation) -> Diagnosis {
    let (coarse_singles, singles): (Vec<_>, Vec<_>) = Mistake::singles().partition(Mistake::is_precision);
    let (coarse, combinations): (Vec<_>, Vec<_>) = Mistake::combinations().partition(Mistake::is_precision);
    let ranks = [singles, combinations, coarse_singles, coarse];
    let fits = ranks.iter().map(|mistakes| {
        let fit = |mistake: &Mistake| {
            Some((*mistake, Fit::of(mistake.mutants, prepared, references, observation)?))
        };
        mistakes.iter().filter_map(fit).collect::<Vec<_>>()
    });
    let fits = fits.into_iter().find(|fits| !fits.is_empty()).unwrap_or_default();
    let closest = fits.iter().map(|(_, fit)| fit).min_by(|one, other| one.share.total_cmp(&other.share));
    let alike = fits.iter().filter(|(_, fit)| closest.is_some_and(|closest| fit.is_like(closest)));
    Diagnosis {
        explanations: alike.map(|(mistake, _)| explanation(mistake)).collect(),
        residual: closest.and_then(|closest| closest.residual),
        unexplained: unexplained(references, observation),
    }
}

fn explanation(mistake: &Mistake) -> Explanation {
    Explanation { mutant: mistake.name.to_owned(), change: clause(mistake.sentence) }
}

/// Whether a mutant that rounds operands, and nothing else, explains it.
fn is_of_precision(diagnosis: &Diagnosis) -> bool {
    let is_precision = |name| Mistake::from_name(name).is_some_and(|mistake| mistake.is_precision());
    !diagnosis.explanations.is_empty() && diagnosis.mutants().all(is_precision)
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
