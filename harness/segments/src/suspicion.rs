//! Whether outputs are farther off than rounding is likely to bring them. That decides what is worth cutting into segments, and never
//! accuses.

use twinfer_case::{Observation, Task, VariantInfo};
use twinfer_golden::{Arithmetic, Reference};
use twinfer_onnx::{Graph, Op, Tensor};

use crate::random_rounding::RandomlyRounded;

/// How many times as far as evaluations with random rounding an output may be off without being suspicious.
const FACTOR: f64 = 4.0;

/// Whether an output of `graph` is suspicious. What golden cannot tell is suspicious, and so is every graph with quantizers: one value
/// that rounds to the other side of a tie brings as many steps as an error does.
pub fn is_suspicious(info: &VariantInfo, graph: &Graph, task: &Task, observation: &Observation) -> bool {
    let runs = task.runs.iter().zip(&observation.runs);
    if graph.nodes.iter().any(|node| matches!(node.op, Op::QuantizeLinear(_) | Op::QLinearConv(_))) {
        return true;
    }
    let arithmetic = info.description.arithmetic.for_request(&task.request);
    let mut suspicious = runs.map(|(inputs, run)| {
        is_run_suspicious(arithmetic, graph, (inputs, &run.outputs), task.hash.number())
    });
    suspicious.any(|answer| answer != Some(false))
}

/// `None` if golden cannot tell.
fn is_run_suspicious(
    arithmetic: Arithmetic,
    graph: &Graph,
    (inputs, outputs): (&[Tensor], &[Tensor]),
    seed: u64,
) -> Option<bool> {
    let RandomlyRounded { exact, samples } = RandomlyRounded::of(graph, inputs, arithmetic, seed)?;
    let mut likely = vec![0.0_f64; exact.len()];
    for sample in &samples {
        for ((likely, exact), sample) in likely.iter_mut().zip(&exact).zip(&sample.outputs) {
            *likely = likely.max(distance(exact, &sample.values)?);
        }
    }
    let off = exact.iter().zip(outputs).map(|(exact, output)| distance(exact, &output.to_f64()));
    let off = off.collect::<Option<Vec<_>>>()?;
    Some(off.iter().zip(&likely).any(|(off, likely)| *off > FACTOR * likely))
}

/// The largest difference of two elements; `None` if it is not a number.
fn distance(exact: &Reference, given: &[f64]) -> Option<f64> {
    let differences = exact.values.iter().zip(given).map(|(exact, given)| (exact - given).abs());
    let largest =
        differences.fold(0.0, |largest: f64, one| if one >= largest || one.is_nan() { one } else { largest });
    (exact.values.len() == given.len() && !largest.is_nan()).then_some(largest)
}
