//! Whether wrong segments *account* for the wrong outputs of a model: run one after another, each on what the backend computed for those before,
//! they give these outputs. If they do not, something else is wrong with the model as a whole, such as a fusion that no segment has.
//!
//! Both are runs of one function, which is not known, because it is that of a mistaken backend. They are as close as two variants may be
//! (`twinfer_checks`), or as two runs of the right function may be: apart by twice golden's error bound. Mistaken values may be larger than
//! golden's, which makes errors larger in proportion, and they may be at rounding ties of quantizers where golden's are not, so the largest
//! bound of an output counts for all of its elements.

use twinfer_case::Observation;
use twinfer_checks::{OutputSource, References, outputs_agree};
use twinfer_golden::Reference;
use twinfer_onnx::{Interface, Tensor};

/// Whether what segments `composed` is what a backend gave for the whole ONNX `model`, of which golden computes `references`.
pub fn accounts(composed: &Observation, whole: &Observation, model: &[u8], references: &References) -> bool {
    outputs_agree(whole, composed, &sources(model)) || is_bounded(references, whole, composed)
}

/// What each output of an ONNX model comes from.
fn sources(model: &[u8]) -> Vec<OutputSource> {
    let Ok(interface) = Interface::decode(model) else { return Vec::new() };
    interface.outputs.iter().map(|output| OutputSource::of(&interface.dataflow, &output.name)).collect()
}

/// Whether all outputs of two observations are as close as two runs of one function.
fn is_bounded(references: &References, one: &Observation, other: &Observation) -> bool {
    let runs = references.iter().zip(&one.runs).zip(&other.runs);
    let mut outputs = runs.map(|((reference, one), other)| {
        let Ok(evaluation) = reference else { return true };
        let mut outputs = evaluation.outputs.iter().zip(&one.outputs).zip(&other.outputs);
        outputs.all(|((reference, one), other)| is_within(reference, one, other))
    });
    one.runs.len() == other.runs.len() && outputs.all(|is_within| is_within)
}

fn is_within(reference: &Reference, one: &Tensor, other: &Tensor) -> bool {
    let (one_numbers, other_numbers) = (one.to_f64(), other.to_f64());
    let growth = largest(&one_numbers).max(largest(&other_numbers)) / largest(&reference.values);
    let allowed = 2.0 * largest(&reference.bound) * growth.max(1.0);
    let is_close =
        |(one, other): (&f64, &f64)| one.to_bits() == other.to_bits() || (one - other).abs() <= allowed;
    one.shape == other.shape && one_numbers.iter().zip(&other_numbers).all(is_close)
}

/// The largest magnitude that is a number.
fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().map(|number| number.abs()).fold(0.0, f64::max)
}
