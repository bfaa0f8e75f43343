//! Whether wrong segments *account* for the wrong outputs of a model: run one after another, each on what the backend computed for those before,
//! they give these outputs. If they do not, something else is wrong with the model as a whole, such as a fusion that no segment has.
//!
//! Both are runs of one function, which is not known, because it is that of a mistaken backend. They are as close as two variants may be
//! (`twinfer_checks`), or as runs of the right function are: golden computes it a few times, rounding at random as the backend's arithmetic
//! allows, and two runs may be [`FACTOR`] times as far apart as the farthest of these from the exact values. That includes ties of quantizers.
//! Errors are larger in proportion where mistaken values are. Golden's error bound would be no measure: in a deep model it is wider than most mistakes.
//!
//! This never accuses: outputs that it is about are wrong by golden's error bound.

use twinfer_case::{Arithmetic, Observation, Task};
use twinfer_checks::{OutputSource, outputs_agree};
use twinfer_golden::Reference;
use twinfer_onnx::{Graph, Interface, Tensor};

use crate::random_rounding::RandomlyRounded;

/// How many times as far two runs may be apart.
const FACTOR: f64 = 8.0;

/// Whether what segments `composed` is what a backend of this arithmetic gave for the `whole` model of `task`; true if golden does not compute that.
pub fn accounts(composed: &Observation, whole: &Observation, task: &Task, arithmetic: Arithmetic) -> bool {
    let Ok(graph) = Graph::decode(&task.model) else { return true };
    outputs_agree(whole, composed, &sources(&task.model))
        || is_likely(&graph, task, arithmetic.for_request(&task.request), (whole, composed)) != Some(false)
}

/// What each output of an ONNX model comes from.
fn sources(model: &[u8]) -> Vec<OutputSource> {
    let Ok(interface) = Interface::decode(model) else { return Vec::new() };
    interface.outputs.iter().map(|output| OutputSource::of(&interface.dataflow, &output.name)).collect()
}

/// Whether all outputs of two observations are as close as random rounding makes likely; `None` if golden cannot tell.
fn is_likely(
    graph: &Graph,
    task: &Task,
    arithmetic: Arithmetic,
    (one, other): (&Observation, &Observation),
) -> Option<bool> {
    if one.runs.len() != other.runs.len() {
        return Some(false);
    }
    for ((inputs, one), other) in task.runs.iter().zip(&one.runs).zip(&other.runs) {
        let rounded = RandomlyRounded::of(graph, inputs, arithmetic, task.hash.number())?;
        let mut outputs = rounded.exact.iter().zip(spread(&rounded)).zip(&one.outputs).zip(&other.outputs);
        if !outputs.all(|(((exact, spread), one), other)| is_within(exact, spread, one, other)) {
            return Some(false);
        }
    }
    Some(true)
}

/// The largest distance of an element from its exact value with random rounding, for each output.
fn spread(rounded: &RandomlyRounded) -> Vec<f64> {
    let distance = |(output, exact): (usize, &Reference)| {
        let samples = rounded.samples.iter().filter_map(|sample| sample.outputs.get(output));
        let numbers = samples.flat_map(|sample| exact.values.iter().zip(&sample.values));
        numbers.map(|(exact, sample)| (exact - sample).abs()).fold(0.0, f64::max)
    };
    rounded.exact.iter().enumerate().map(distance).collect()
}

fn is_within(exact: &Reference, spread: f64, one: &Tensor, other: &Tensor) -> bool {
    let (one_numbers, other_numbers) = (one.to_f64(), other.to_f64());
    let growth = largest(&one_numbers).max(largest(&other_numbers)) / largest(&exact.values);
    let allowed = FACTOR * spread * growth.max(1.0);
    let is_close =
        |(one, other): (&f64, &f64)| one.to_bits() == other.to_bits() || (one - other).abs() <= allowed;
    one.shape == other.shape && one_numbers.iter().zip(&other_numbers).all(is_close)
}

/// The largest magnitude that is a number.
fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().map(|number| number.abs()).fold(0.0, f64::max)
}
