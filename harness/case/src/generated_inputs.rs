//! Inputs that are generated for a user's model.

mod extents;
mod input_kind;
mod quantized_range;
mod unfit_model;

use twinfer_onnx::{Graph, PartialGraph, ValueInfo};

pub use self::unfit_model::UnfitModel;
use self::{
    extents::{shapes, unchecked_shapes},
    input_kind::InputKind,
    quantized_range::QuantizedRange,
};
use crate::{Run, TensorSource};

/// How to generate inputs for a model.
///
/// They are small integers (exact regime) and standard normal values (rounding regime) in turn. Of every four runs, an input that is quantized gets values up to
/// both ends of the quantizer's range and beyond in two.
#[derive(Clone, Debug, Default)]
pub struct GeneratedInputs {
    /// The extents of symbolic dimensions, by name. Others get the smallest of 2, 4, … 64 with which most windows have several positions.
    pub extents: Vec<(String, usize)>,
    /// The seed of the first run.
    pub seed: u64,
}

impl GeneratedInputs {
    /// So many runs of a graph.
    ///
    /// # Errors
    ///
    /// If the graph is invalid, or accepts none of the shapes that are tried.
    pub fn runs(&self, graph: &Graph, count: u64) -> Result<Vec<Run>, UnfitModel> {
        let shapes = shapes(graph, &self.extents)?;
        let ranges = ranges(&graph.inputs, &PartialGraph::from(graph));
        Ok(self.runs_of((&graph.inputs, &shapes), &ranges, count))
    }

    /// So many runs of a model of which only these `inputs` are known, and a part of the graph.
    ///
    /// # Errors
    ///
    /// If an input has no shape, or extents are given for other dimensions.
    pub fn runs_of_inputs(
        &self,
        inputs: &[ValueInfo],
        graph: Option<&PartialGraph>,
        count: u64,
    ) -> Result<Vec<Run>, UnfitModel> {
        let shapes = unchecked_shapes(inputs, &self.extents)?;
        let ranges = graph.map_or_else(|| vec![None; inputs.len()], |graph| ranges(inputs, graph));
        Ok(self.runs_of((inputs, &shapes), &ranges, count))
    }

    /// A run of each kind that differs from the others: more if an input is quantized.
    ///
    /// # Errors
    ///
    /// As [`runs`](Self::runs).
    pub fn runs_of_each_kind(&self, graph: &Graph) -> Result<Vec<Run>, UnfitModel> {
        let is_quantized = ranges(&graph.inputs, &PartialGraph::from(graph)).iter().any(Option::is_some);
        self.runs(graph, InputKind::different(is_quantized))
    }

    fn runs_of(
        &self,
        (inputs, shapes): (&[ValueInfo], &[Vec<usize>]),
        ranges: &[Option<QuantizedRange>],
        count: u64,
    ) -> Vec<Run> {
        (0..count).map(|index| self.run(index, (inputs, shapes), ranges)).collect()
    }

    fn run(
        &self,
        index: u64,
        (inputs, shapes): (&[ValueInfo], &[Vec<usize>]),
        ranges: &[Option<QuantizedRange>],
    ) -> Run {
        let (kind, seed) = (InputKind::of_run(index), self.seed.wrapping_add(index));
        let source =
            |(place, ((input, shape), range)): (usize, ((&ValueInfo, &Vec<usize>), &Option<_>))| -> TensorSource {
                let seed = seed.wrapping_mul(1 << 8).wrapping_add(place as u64);
                kind.source(input.dtype, shape.clone(), seed, range.as_ref())
            };
        Run { inputs: inputs.iter().zip(shapes).zip(ranges).enumerate().map(source).collect() }
    }
}

/// The range of the quantizer that reads each input.
fn ranges(inputs: &[ValueInfo], graph: &PartialGraph) -> Vec<Option<QuantizedRange>> {
    inputs.iter().map(|input| QuantizedRange::of(input, graph)).collect()
}
