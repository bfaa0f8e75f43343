//! *Diagnosis*: the mutants of golden that reproduce a backend's output.

mod documentation;
mod error_left;
mod fallback;
mod fit;
mod half_sums;
mod input;
mod prediction;
mod visibility;

use twinfer_case::{Diagnosis, Kind, ReproducingMutant, Verdict};
use twinfer_golden::Combination;

use self::fit::Fit;
pub use self::{
    error_left::error_left, fit::largest_difference, input::DiagnosisInput, prediction::Prediction,
    visibility::is_visible,
};
use crate::judge::Judgement;

/// Adds a diagnosis to every divergence of shapes or values. A divergence of values that rounded operands alone explain becomes
/// a precision fallback.
pub fn explain(judgement: &mut Judgement, input: &DiagnosisInput<'_>) {
    let Verdict::Diverges(divergences) = &mut judgement.verdict else { return };
    let mut compared = divergences
        .iter_mut()
        .filter(|divergence| matches!(divergence.kind, Kind::WrongValues | Kind::WrongShape))
        .peekable();
    if compared.peek().is_none() {
        return;
    }
    let diagnosis = diagnose(input);
    let is_of_precision = is_of_precision(&diagnosis);
    for divergence in compared {
        if is_of_precision {
            divergence.kind = Kind::PrecisionFallback;
        }
        divergence.diagnosis = Some(diagnosis.clone());
    }
    documentation::document(divergences, &diagnosis, input.description, &input.encoded.case.graph);
    fallback::settle(divergences, &diagnosis);
}

/// The mutants that reproduce the output, or the shape, that differs from golden's.
fn diagnose(input: &DiagnosisInput<'_>) -> Diagnosis {
    let fits = fits(input);
    let closest = fits.iter().map(|(_, fit)| fit).min_by(|one, other| one.share.total_cmp(&other.share));
    let alike = fits.iter().filter(|(_, fit)| closest.is_some_and(|closest| fit.is_like(closest)));
    let alike: Vec<Combination> = alike.map(|(combination, _)| *combination).collect();
    let least = alike.iter().filter(|combination| !alike.iter().any(|other| other.is_part_of(combination)));
    let possible = if fits.is_empty() { possible(input) } else { Vec::new() };
    Diagnosis {
        mutants: least.map(|combination| reproducing(*combination)).collect(),
        residual: closest.and_then(|closest| closest.residual),
        unexplained: largest_difference(input.references, input.observation),
        possible,
    }
}

/// The names of the mutants that may be why an output is wrong, although it tells too little.
fn possible(input: &DiagnosisInput<'_>) -> Vec<String> {
    let outputs = input.references.iter().flatten().flat_map(|evaluation| &evaluation.outputs);
    if !outputs.into_iter().any(|output| output.quantization_step.is_some()) {
        return Vec::new();
    }
    let concerned = |combination: &Combination| combination.concerns(&input.encoded.case.graph);
    let exact = Combination::singles().filter(|one| concerned(one) && !one.is_precision());
    let possible = exact.filter(|combination| Fit::is_possible(combination.mutants, input));
    possible.map(|combination| combination.name.to_owned()).collect()
}

/// The mutants that reproduce an output: single ones or, if there are none, combinations of which none can be left out.
/// Coarse arithmetic comes last, because its wide bounds hold much that has another cause. A combination of coarse
/// arithmetic with another mutant comes before, and counts if coarse arithmetic alone does not reproduce the output.
fn fits(input: &DiagnosisInput<'_>) -> Vec<(Combination, Fit)> {
    let fit = |combination: Combination| Some((combination, Fit::of(combination.mutants, input)?));
    let fitting =
        |combinations: Vec<Combination>| -> Vec<_> { combinations.into_iter().filter_map(fit).collect() };
    let concerned = |combination: &Combination| combination.concerns(&input.encoded.case.graph);
    let (coarse_singles, singles) =
        Combination::singles().filter(concerned).partition(Combination::is_precision);
    let (coarse_combinations, combinations) =
        Combination::several().filter(concerned).partition(Combination::is_precision);
    let single = fitting(singles);
    if !single.is_empty() {
        return single;
    }
    let (several, coarse) = (fitting(combinations), fitting(coarse_singles));
    let needs_all = |(combination, _): &&(Combination, Fit)| {
        !several.iter().chain(&coarse).any(|(other, _)| other.is_part_of(combination))
    };
    let needed: Vec<_> = several.iter().filter(needs_all).copied().collect();
    if !needed.is_empty() {
        return needed;
    }
    if coarse.is_empty() { fitting(coarse_combinations) } else { coarse }
}

fn reproducing(combination: Combination) -> ReproducingMutant {
    ReproducingMutant { name: combination.name.to_owned(), clause: combination.clause() }
}

/// Whether every mutant of the diagnosis is one of precision, and there is one.
fn is_of_precision(diagnosis: &Diagnosis) -> bool {
    let is_precision =
        |name| Combination::from_name(name).is_some_and(|combination| combination.is_precision());
    !diagnosis.mutants.is_empty() && diagnosis.mutant_names().all(is_precision)
}
