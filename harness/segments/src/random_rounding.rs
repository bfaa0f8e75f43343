//! Evaluations with random rounding, which show how far apart results of one graph lie.

use twinfer_golden::{Arithmetic, Evaluation, Reference, evaluate_as, evaluate_rounding_randomly};
use twinfer_onnx::{Graph, Tensor};

/// How many evaluations round at random.
const SAMPLES: u64 = 4;

/// What a graph gives for some inputs.
pub struct RandomlyRounded {
    /// Exactly.
    pub exact: Vec<Reference>,
    /// In each of a few evaluations that round at random.
    pub samples: Vec<Evaluation>,
}

impl RandomlyRounded {
    /// Evaluates `graph`; `None` if golden cannot tell. Equal seeds give equal samples.
    pub fn of(graph: &Graph, inputs: &[Tensor], arithmetic: Arithmetic, seed: u64) -> Option<Self> {
        let exact = evaluate_as(graph, inputs, arithmetic, &[]).ok()?.outputs;
        let sample =
            |sample| evaluate_rounding_randomly(graph, inputs, arithmetic, seed.wrapping_add(sample)).ok();
        Some(Self { exact, samples: (0..SAMPLES).map(sample).collect::<Option<_>>()? })
    }
}
