//! *Diagnosis*: the mutants of golden that reproduce a backend's output.

mod fit;

use twinfer_case::{Diagnosis, Explanation, Kind, Observation, Verdict};
use twinfer_checks::Judgement;
use twinfer_golden::Mutant;

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
}

/// Why an output or its shape is not golden's.
fn diagnose(prepared: &Prepared, references: &References, observation: &Observation) -> Diagnosis {
    let fit = |mutant: &Mutant| Some((*mutant, Fit::of(*mutant, prepared, references, observation)?));
    let fits: Vec<(Mutant, Fit)> = Mutant::ALL.iter().filter_map(fit).collect();
    let closest = fits.iter().map(|(_, fit)| fit).min_by(|one, other| one.share.total_cmp(&other.share));
    let explanations = fits.iter().filter(|(_, fit)| closest.is_some_and(|closest| fit.is_like(closest)));
    Diagnosis {
        explanations: explanations.map(|(mutant, _)| explanation(*mutant)).collect(),
        residual: closest.and_then(|closest| closest.residual),
        unexplained: unexplained(references, observation),
    }
}

fn explanation(mutant: Mutant) -> Explanation {
    Explanation { mutant: mutant.name().to_owned(), change: mutant.name().replace('-', " ") }
}

/// Whether a mutant that rounds operands, and nothing else, explains it.
fn is_of_precision(diagnosis: &Diagnosis) -> bool {
    let rounds =
        |name| matches!(Mutant::from_name(name), Some(Mutant::OperandsInHalf | Mutant::OperandsInBfloat16));
    !diagnosis.explanations.is_empty() && diagnosis.mutants().all(rounds)
}
