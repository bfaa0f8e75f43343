//! Inputs for a user's model: generated ones, or the user's own.

mod extents;
mod given;
mod numpy;
mod quantized;

use std::{num::NonZeroU64, path::PathBuf};

use clap::Args;
use twinfer_case::{Case, Expectation, Recipe, Regime, Request, Run, TensorSource};
use twinfer_onnx::{DataType, Graph, PartialGraph, ValueInfo, infer_shapes};

use crate::{Failure, whole_number::whole_number};

use extents::{parse_extent, shapes, unchecked_shapes};
use quantized::QuantizedRange;

/// Which inputs to generate for a model.
#[derive(Clone, Debug, Args)]
pub struct InputArguments {
    /// Input sets to generate for a model; a case has its own
    #[arg(long, default_value = "8", value_parser = whole_number::<NonZeroU64>)]
    cases: NonZeroU64,
    /// Run a model on inputs of your own: an .npz file, or a folder with an .npy or .pb file for each input; repeatable
    #[arg(long = "inputs", value_name = "PATH", conflicts_with_all = ["cases", "dims", "seed"])]
    pub given: Vec<PathBuf>,
    /// Extent of a symbolic dimension [default: the smallest of 2, 4, … 64 with which most windows have several positions]
    #[arg(long = "dim", value_name = "NAME=N", value_parser = parse_extent)]
    pub dims: Vec<(String, usize)>,
    /// Seed of the generated inputs
    #[arg(long, default_value_t = 0, value_parser = whole_number::<u64>)]
    pub seed: u64,
}

impl InputArguments {
    /// Cases of the graph, whose inputs are alternately small integers (exact regime) and Gaussian (rounding regime). Of every four cases, an
    /// input that is quantized gets values up to both ends of the quantizer's range and beyond in two.
    pub fn cases(&self, graph: &Graph) -> Result<Vec<Case>, Failure> {
        let case = |run: Run| Case {
            graph: graph.clone(),
            request: request(&graph.inputs),
            runs: vec![run],
            expectation: Expectation::Valid,
            provenance: None,
        };
        if !self.given.is_empty() {
            let runs = given::runs(&self.given, &graph.inputs)?;
            runs.iter().try_for_each(|run| accept(graph, run))?;
            return Ok(runs.into_iter().map(case).collect());
        }
        let shapes = shapes(graph, &self.dims)?;
        let ranges = ranges(&graph.inputs, &PartialGraph::from(graph));
        let run = |index| self.run(index, (&graph.inputs, &shapes), &ranges);
        Ok((0..self.cases.get()).map(run).map(case).collect())
    }

    /// Refuses inputs of the user's own for what is no model.
    pub fn refuse_for_case(&self) -> Result<(), Failure> {
        if self.given.is_empty() {
            return Ok(());
        }
        Err(Failure::usage("a stored case has its own inputs: --inputs is for a model"))
    }

    /// Runs for a model that golden does not support, of which these `inputs` are known, with inputs as of [`Self::cases`].
    pub fn runs(&self, inputs: &[ValueInfo], graph: Option<&PartialGraph>) -> Result<Vec<Run>, Failure> {
        if !self.given.is_empty() {
            return given::runs(&self.given, inputs);
        }
        let shapes = unchecked_shapes(inputs, &self.dims)?;
        let ranges = graph.map_or_else(|| vec![None; inputs.len()], |graph| ranges(inputs, graph));
        Ok((0..self.cases.get()).map(|index| self.run(index, (inputs, &shapes), &ranges)).collect())
    }

    fn run(
        &self,
        index: u64,
        (inputs, shapes): (&[ValueInfo], &[Vec<usize>]),
        ranges: &[Option<QuantizedRange>],
    ) -> Run {
        let seed = self.seed.wrapping_add(index);
        let source = |(place, ((input, shape), range)): (usize, ((&ValueInfo, &Vec<usize>), &Option<_>))| {
            let seed = seed.wrapping_mul(1 << 8).wrapping_add(place as u64);
            source(index, recipe(index, input.dtype, shape.clone(), seed), range.as_ref())
        };
        Run { inputs: inputs.iter().zip(shapes).zip(ranges).enumerate().map(source).collect() }
    }
}

/// Whether the graph is valid for inputs of these shapes.
fn accept(graph: &Graph, run: &Run) -> Result<(), Failure> {
    let shape = |source: &TensorSource| match source {
        TensorSource::Data(tensor) => tensor.shape.clone(),
        TensorSource::Recipe(recipe) => recipe.shape.clone(),
    };
    let shapes: Vec<_> = run.inputs.iter().map(shape).collect();
    let invalid = |violation| Failure::usage(format!("the model is invalid for these inputs: {violation}"));
    infer_shapes(graph, &shapes).map(|_| ()).map_err(invalid)
}

/// The range of the quantizer that reads each input.
fn ranges(inputs: &[ValueInfo], graph: &PartialGraph) -> Vec<Option<QuantizedRange>> {
    inputs.iter().map(|input| QuantizedRange::of(input, graph)).collect()
}

/// Small integers and Gaussian values in turn.
const fn recipe(index: u64, dtype: DataType, shape: Vec<usize>, seed: u64) -> Recipe {
    let regime =
        if index.is_multiple_of(2) { Regime::Exact { limit: 8, exponent: 0 } } else { Regime::Gaussian };
    Recipe { dtype, shape, regime, seed }
}

/// What the recipe makes; in two of four cases values for a quantizer with this range in its place.
fn source(index: u64, recipe: Recipe, range: Option<&QuantizedRange>) -> TensorSource {
    let quantized = match index % 4 {
        2 => range.and_then(|range| range.half_steps(&recipe)),
        3 => range.and_then(|range| range.spread(&recipe)),
        _ => None,
    };
    quantized.map_or(TensorSource::Recipe(recipe), TensorSource::Data)
}

/// A request in the precision of the first input; `float` if there are no inputs.
pub fn request(inputs: &[ValueInfo]) -> Request {
    let precision = inputs.first().map_or(DataType::Float, |input| input.dtype);
    Request { precision, tf32: false }
}
