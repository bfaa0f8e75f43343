//! Whether outputs are farther off than rounding is likely to bring them. That decides what is worth cutting into segments, and never
//! accuses.

use twinfer_case::{Observation, Task, VariantInfo};
use twinfer_golden::{Reference, evaluate_as, evaluate_rounding_randomly};
use twinfer_onnx::{Graph, Tensor};

/// Evaluations with random rounding that show how far results lie apart.
const SAMPLES: u64 = 4;
/// How many times as far as these an output may be off without being suspicious.
const FACTOR: f64 = 4.0;

/// Whether an output of `graph` is suspicious. What golden cannot tell is suspicious.
pub fn is_suspicious(info: &VariantInfo, graph: &Graph, task: &Task, observation: &Observation) -> bool {
    let runs = task.runs.iter().zip(&observation.runs);
    let mut suspicious =
        runs.map(|(inputs, run)| is_run_suspicious(info, graph, (inputs, &run.outputs), task.hash.number()));
    suspicious.any(|answer| answer != Some(false))
}

/// `None` if golden cannot tell.
fn is_run_suspicious(
    info: &VariantInfo,
    graph: &Graph,
    (inputs, outputs): (&[Tensor], &[Tensor]),
    seed: u64,
) -> Option<bool> {
    let arithmetic = info.description.arithmetic;
    let exact = evaluate_as(graph, inputs, arithmetic, &[]).ok()?.outputs;
    let mut likely = vec![Distance::default(); exact.len()];
    for sample in 0..SAMPLES {
        let sample = evaluate_rounding_randomly(graph, inputs, arithmetic, seed.wrapping_add(sample)).ok()?;
        for ((likely, exact), sample) in likely.iter_mut().zip(&exact).zip(&sample.outputs) {
            *likely = likely.or(Distance::of(exact, &sample.values)?);
        }
    }
    let off = exact.iter().zip(outputs).map(|(exact, output)| Distance::of(exact, &output.to_f64()));
    let off = off.collect::<Option<Vec<_>>>()?;
    Some(off.iter().zip(&likely).any(|(off, likely)| off.is_far_beyond(*likely)))
}

/// How far an output lies from the exact one.
#[derive(Clone, Copy, Default)]
struct Distance {
    /// The largest difference of two elements, which shows an error in few of them.
    largest: f64,
    /// The sum of the squares of all differences, which shows an error of many, even beside one element that a quantizer rounds to the
    /// other side.
    squares: f64,
}

impl Distance {
    /// `None` if it is not a number.
    fn of(exact: &Reference, given: &[f64]) -> Option<Self> {
        let differences = || exact.values.iter().zip(given).map(|(exact, given)| (exact - given).abs());
        let squares: f64 = differences().map(|difference| difference * difference).sum();
        let is_known = exact.values.len() == given.len() && !squares.is_nan();
        is_known.then(|| Self { largest: differences().fold(0.0, f64::max), squares })
    }

    /// The larger of both in either respect.
    const fn or(self, other: Self) -> Self {
        Self { largest: self.largest.max(other.largest), squares: self.squares.max(other.squares) }
    }

    fn is_far_beyond(self, likely: Self) -> bool {
        self.largest > FACTOR * likely.largest || self.squares > FACTOR * FACTOR * likely.squares
    }
}
