//! What the comparison of outputs with golden's cannot see, because of their bounds.

use twinfer_case::Blindness;
use twinfer_checks::References;
use twinfer_golden::Reference;
use twinfer_onnx::DataType;

/// Whether every output is known exactly, so that the comparison sees every error.
pub fn is_exact(references: &References) -> bool {
    outputs_of(references).all(|output| output.bound.iter().all(|bound| *bound == 0.0))
}

/// What the comparison of outputs with `references` cannot see, in the output of which that is most; `None` if it sees every error
/// that is large in proportion to its output.
pub fn blindness(references: &References) -> Option<Blindness> {
    let by_excess = outputs_of(references).map(|output| {
        let blindness = of_output(output);
        (blindness.share() / largest_share(output.dtype), blindness)
    });
    let (excess, blindness) = by_excess.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (excess > 1.0).then_some(blindness)
}

fn outputs_of(references: &References) -> impl Iterator<Item = &Reference> {
    references.iter().flatten().flat_map(|evaluation| &evaluation.outputs)
}

fn of_output(output: &Reference) -> Blindness {
    let says_nothing = !output.values.is_empty() && output.values.iter().all(|value| value.is_nan());
    let below = if says_nothing { f64::INFINITY } else { largest(&mut output.bound.iter()) };
    let mut finite = output.values.iter().filter(|value| value.is_finite());
    Blindness { below: below.is_finite().then_some(below), largest: largest(&mut finite) }
}

fn largest(values: &mut dyn Iterator<Item = &f64>) -> f64 {
    values.map(|value| value.abs()).fold(0.0, f64::max)
}

/// The share of the largest magnitude of an output that an error may have at most without being seen, for the comparison to count as
/// one that sees errors: 1/128, and more for types of which a few roundings are more.
fn largest_share(dtype: DataType) -> f64 {
    const ROUNDINGS: f64 = 64.0;
    let unit_roundoff = match dtype {
        DataType::Float16 => 2f64.powi(-11),
        DataType::Bfloat16 => 2f64.powi(-8),
        _ => 2f64.powi(-24),
    };
    (ROUNDINGS * unit_roundoff).max(1.0 / 128.0)
}

#[cfg(test)]
mod tests {
    use twinfer_golden::Evaluation;

    use super::*;

    fn references(dtype: DataType, bound: f64) -> Vec<twinfer_checks::RunReference> {
        let output = Reference {
            dtype,
            shape: vec![2],
            values: vec![1.0, 4.0],
            bound: vec![0.0, bound],
            grid_step: None,
            quantization_step: None,
            has_signed_zeros: false,
        };
        vec![Ok(Evaluation { outputs: vec![output], unspecified: Vec::new(), open: Vec::new() })]
    }

    #[test]
    fn comparison_is_blind_to_errors_that_are_large_for_its_type() {
        let below = |dtype, bound| blindness(&references(dtype, bound)).map(|blindness| blindness.below);
        assert_eq!(below(DataType::Float, 4.0 / 129.0), None);
        assert_eq!(below(DataType::Float, 0.125), Some(Some(0.125)));
        assert_eq!(below(DataType::Float16, 0.1), None);
        assert_eq!(below(DataType::Bfloat16, 0.75), None);
        assert_eq!(below(DataType::Float, f64::INFINITY), Some(None));
        let mut without_numbers = references(DataType::Float, 0.0);
        let Ok(evaluation) = &mut without_numbers[0] else { unreachable!("it has outputs") };
        evaluation.outputs[0].values = vec![f64::NAN; 2];
        assert_eq!(blindness(&without_numbers).map(|blindness| blindness.below), Some(None));
        assert!(is_exact(&references(DataType::Float, 0.0)));
        assert!(!is_exact(&references(DataType::Float, 1e-9)));
    }
}
