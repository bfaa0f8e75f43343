//! Inputs for a user's model: generated ones, or the user's own.

use std::{num::NonZeroU64, path::PathBuf};

use clap::Args;
use twinfer_case::{Case, Expectation, GeneratedInputs, Request, Run, UnfitModel};
use twinfer_onnx::{Graph, PartialGraph, ValueInfo, infer_shapes};
use twinfer_store::read_model_inputs;

use crate::{Failure, whole_number::whole_number};

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
            request: Request::for_inputs(&graph.inputs),
            runs: vec![run],
            expectation: Expectation::Valid,
            provenance: None,
        };
        if !self.given.is_empty() {
            let runs = read_model_inputs(&self.given, &graph.inputs)?;
            runs.iter().try_for_each(|run| ensure_valid(graph, run))?;
            return Ok(runs.into_iter().map(case).collect());
        }
        let runs = self.generated().runs(graph, self.cases.get()).map_err(|unfit| failure(&unfit))?;
        Ok(runs.into_iter().map(case).collect())
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
            return Ok(read_model_inputs(&self.given, inputs)?);
        }
        self.generated().runs_of_inputs(inputs, graph, self.cases.get()).map_err(|unfit| failure(&unfit))
    }

    fn generated(&self) -> GeneratedInputs {
        GeneratedInputs { extents: self.dims.clone(), seed: self.seed }
    }
}

/// What to do about a model for which no inputs are generated.
fn failure(unfit: &UnfitModel) -> Failure {
    let advice = match unfit {
        UnfitModel::Extents { open, .. } => {
            format!(": set its symbolic dimensions, such as --dim {open}=3")
        }
        UnfitModel::GivenTwice(_) => ": give --dim once for it".to_owned(),
        UnfitModel::NoSuchDimension { known, .. } if known.is_empty() => {
            ": its inputs have fixed shapes, so leave --dim out".to_owned()
        }
        UnfitModel::NoSuchDimension { known, .. } => {
            format!(
                ": give one of {}",
                known.iter().map(|name| dimension(name)).collect::<Vec<_>>().join(", ")
            )
        }
        _ => String::new(),
    };
    Failure::usage(format!("{unfit}{advice}"))
}

/// Such as `--dim batch=N`.
fn dimension(name: &str) -> String {
    match name {
        "" => "--dim =N (the dimensions without a name)".to_owned(),
        name => format!("--dim {name}=N"),
    }
}

/// Parses `NAME=N`, such as `batch=4`.
pub fn parse_extent(text: &str) -> Result<(String, usize), String> {
    let (name, extent) = text.split_once('=').ok_or("give NAME=N, such as batch=4")?;
    let extent: usize =
        extent.parse().map_err(|_| format!("{extent:?} is not a dimension: give a whole number"))?;
    if extent == 0 {
        return Err("a dimension of 0 leaves no values to compare: give at least 1".to_owned());
    }
    Ok((name.to_owned(), extent))
}

/// Refuses a run whose inputs make the graph invalid.
fn ensure_valid(graph: &Graph, run: &Run) -> Result<(), Failure> {
    let shapes: Vec<_> = run.inputs.iter().map(|input| input.shape().to_vec()).collect();
    let invalid = |violation| Failure::usage(format!("the model is invalid for these inputs: {violation}"));
    infer_shapes(graph, &shapes).map(|_| ()).map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_positive_whole_numbers() {
        assert_eq!(parse_extent("batch=4"), Ok(("batch".to_owned(), 4)));
        for (text, reason) in [("batch", "NAME=N"), ("batch=x", "whole number"), ("batch=0", "at least 1")] {
            let refusal = parse_extent(text).unwrap_err();
            assert!(refusal.contains(reason), "{refusal}");
        }
    }
}
