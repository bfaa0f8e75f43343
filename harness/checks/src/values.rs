//! Every element of an output agrees with golden: `wrong-values`, `unwritten-output`.

use twinfer_case::{Kind, Note, OutputFilling, Stage};
use twinfer_golden::{Agreement, Evaluation, Reference};
use twinfer_onnx::{Tensor, position};

use crate::report::Report;

/// How the elements of one output compare.
#[derive(Default)]
struct Tally {
    wrong: usize,
    unwritten: usize,
    worst: Option<(usize, f64)>,
    /// The largest deviation within its bound, as a share of the bound.
    share: f64,
}

/// Compares the elements of every output with golden. Before the run, output buffers held `filling`, if they were filled.
pub fn check(
    evaluation: &Evaluation,
    outputs: &[Tensor],
    filling: Option<OutputFilling>,
    report: &mut Report<'_>,
) {
    for (index, (reference, output)) in evaluation.outputs.iter().zip(outputs).enumerate() {
        let given = output.to_f64();
        let tally = Tally::of(reference, output, &given, filling);
        if let Some((place, _)) = tally.worst {
            let kind = if tally.wrong == tally.unwritten { Kind::UnwrittenOutput } else { Kind::WrongValues };
            report.diverges(Stage::Execute, kind, tally.detail(index, reference, place, given[place]));
        }
        if tally.share > 0.0 {
            report.note(Note::BoundUsed(tally.share));
        }
    }
}

impl Tally {
    fn of(reference: &Reference, output: &Tensor, given: &[f64], filling: Option<OutputFilling>) -> Self {
        let mut tally = Self::default();
        for (place, &value) in given.iter().enumerate() {
            match reference.compare(place, value) {
                Agreement::Exact | Agreement::Free => {}
                Agreement::Rounded(deviation) => {
                    tally.share = tally.share.max(deviation / reference.bound[place]);
                }
                Agreement::Wrong(deviation) => {
                    tally.wrong += 1;
                    tally.unwritten +=
                        usize::from(filling.is_some_and(|filling| filling.is_left_in(output, place)));
                    if tally.worst.is_none_or(|(_, worst)| deviation > worst) {
                        tally.worst = Some((place, deviation));
                    }
                }
            }
        }
        tally
    }

    fn detail(&self, output: usize, reference: &Reference, place: usize, given: f64) -> String {
        let Self { wrong, unwritten, .. } = self;
        let total = reference.values.len();
        let position = position(&reference.shape, place);
        let expected = reference.values[place];
        let allowed = match reference.grid_step {
            // golden's grid step for an output of zeros
            Some(f64::MIN_POSITIVE) => "exactly zero".to_owned(),
            Some(step) => format!("grid step {step:e}"),
            None => format!("bound {:e}", reference.bound[place]),
        };
        let steps = reference.quantization_step.map_or_else(String::new, |step| {
            match rounded((given - expected).abs() / step).as_str() {
                "1" => "1 quantization step, ".to_owned(),
                steps => format!("{steps} quantization steps, "),
            }
        });
        let (given, expected) = (written(given), written(expected));
        let unwritten =
            if *unwritten > 0 { format!(", {unwritten} of them unwritten") } else { String::new() };
        format!(
            "output {output}: {wrong} of {total} elements differ{unwritten}; at {position:?} {given} instead of \
             {expected} ({steps}{allowed})"
        )
    }
}

/// The number with an exponent if it would have a long row of zeros.
fn written(value: f64) -> String {
    let is_long = value.is_finite() && value != 0.0 && !(1e-6..1e16).contains(&value.abs());
    if is_long { format!("{value:e}") } else { value.to_string() }
}

/// The number with at most two decimals.
fn rounded(steps: f64) -> String {
    let text = format!("{steps:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_given_in_quantization_steps() {
        let reference = Reference {
            dtype: twinfer_onnx::DataType::Float,
            shape: vec![1, 2],
            values: vec![0.5, 1.5],
            bound: vec![0.0; 2],
            grid_step: Some(0.5),
            quantization_step: Some(0.5),
            has_signed_zeros: false,
        };
        let output = Tensor::from_f64(reference.dtype, vec![1, 2], &[0.5, 3.0]).unwrap();
        let tally = Tally::of(&reference, &output, &output.to_f64(), None);
        let detail = tally.detail(0, &reference, 1, 3.0);
        assert!(
            detail.ends_with("at [0, 1] 3 instead of 1.5 (3 quantization steps, grid step 5e-1)"),
            "{detail}"
        );
        let tally = Tally { wrong: 1, ..Tally::default() };
        let detail = tally.detail(0, &reference, 1, 2.0);
        assert!(detail.ends_with("(1 quantization step, grid step 5e-1)"), "{detail}");
        assert_eq!(rounded(0.7512), "0.75");
        assert_eq!(rounded(20.0), "20");
    }

    #[test]
    fn number_with_a_long_row_of_zeros_has_an_exponent() {
        let numbers = [f64::from(f32::MAX), 3.2e-35, -1e16, 1e-6, -0.0, 255.0, f64::INFINITY, f64::NAN];
        let expected = ["3.4028234663852886e38", "3.2e-35", "-1e16", "0.000001", "-0", "255", "inf", "NaN"];
        assert_eq!(numbers.map(written), expected);
    }

    #[test]
    fn outputs_of_zeros_have_no_grid_step() {
        let reference = Reference {
            dtype: twinfer_onnx::DataType::Float,
            shape: vec![1],
            values: vec![0.0],
            bound: vec![0.0],
            grid_step: Some(f64::MIN_POSITIVE),
            quantization_step: None,
            has_signed_zeros: false,
        };
        let tally = Tally { wrong: 1, ..Tally::default() };
        let detail = tally.detail(0, &reference, 0, 2.0);
        assert!(detail.ends_with("2 instead of 0 (exactly zero)"), "{detail}");
    }
}
