//! What segments say about the verdict on the whole model.

use twinfer_case::{Blindness, Divergence, Kind, Note, SegmentCounts, VariantInfo, Verdict};
use twinfer_checks::{Judgement, References};
use twinfer_golden::Reference;

use crate::Examination;

/// What the comparison of outputs with `references` cannot see, in the output of which that is most; `None` if every output is
/// known exactly.
pub fn blindness(references: &References) -> Option<Blindness> {
    let outputs = references.iter().flatten().flat_map(|evaluation| &evaluation.outputs);
    let blindest = outputs.map(of_output).max_by(|one, other| one.share().total_cmp(&other.share()))?;
    (blindest.below != Some(0.0)).then_some(blindest)
}

fn of_output(output: &Reference) -> Blindness {
    let largest = |values: &[f64]| values.iter().map(|value| value.abs()).fold(0.0, f64::max);
    let below = largest(&output.bound);
    let finite: Vec<_> = output.values.iter().copied().filter(|value| value.is_finite()).collect();
    Blindness { below: below.is_finite().then_some(below), largest: largest(&finite) }
}

/// The share of the largest magnitude of an output that an error may have at most without being seen, for the comparison to count as
/// one that sees errors.
const MAX_BLINDNESS: f64 = 1.0 / 128.0;

/// Whether a comparison is blind to errors that are large in proportion to its output.
pub fn may_hide_errors(blindness: Blindness) -> bool {
    blindness.share() > MAX_BLINDNESS
}

/// Adds what an examination shows to the conclusion about the whole model: the culprit, and how much was judged.
///
/// A model whose segments conform conforms, if only the width of its bound or an operator that golden does not know spoke against it. A
/// variant whose every node was judged is not to blame for what another one answers differently.
pub fn conclude(judgement: &mut Judgement, info: &VariantInfo, examination: &Examination) {
    let Examination { counts, found } = examination;
    if let Some(found) = found {
        match &mut judgement.verdict {
            Verdict::Diverges(divergences) if !disagree(divergences) => {
                let of_values = divergences.iter_mut().filter(|divergence| is_of_values(divergence.kind));
                for divergence in of_values {
                    divergence.culprit = Some(found.culprit.clone());
                }
            }
            verdict => *verdict = Verdict::Diverges(divergences(info, found)),
        }
    } else if counts.judged > 0 && is_settled(&judgement.verdict, counts) {
        judgement.verdict = Verdict::Conforms;
    }
    if counts.judged > 0 {
        judgement.compared = true;
        judgement.notes.push(Note::Segments(counts.clone()));
    }
}

/// Whether a variant with this verdict on the whole model conforms if its segments do.
fn is_settled(verdict: &Verdict, counts: &SegmentCounts) -> bool {
    match verdict {
        Verdict::Vacuous | Verdict::Unspecified(_) => true,
        Verdict::Diverges(divergences) => disagree(divergences) && counts.not_judged.is_empty(),
        Verdict::Conforms | Verdict::Unsupported(_) => false,
    }
}

/// Whether the divergences are differences between variants, of which it is unknown which is wrong.
fn disagree(divergences: &[Divergence]) -> bool {
    divergences.iter().all(|divergence| divergence.kind == Kind::Disagree)
}

/// The divergences of a segment, as those of the model.
fn divergences(info: &VariantInfo, found: &crate::Found) -> Vec<Divergence> {
    let of_segment = found.evaluated.divergences().iter().map(|divergence| Divergence {
        variant: info.variant.clone(),
        culprit: Some(found.culprit.clone()),
        ..divergence.clone()
    });
    of_segment.collect()
}

/// Whether a divergence of this kind may have a culprit: a segment whose output is wrong.
pub const fn is_of_values(kind: Kind) -> bool {
    matches!(kind, Kind::WrongValues | Kind::WrongShape | Kind::UnwrittenOutput | Kind::PrecisionFallback)
}
