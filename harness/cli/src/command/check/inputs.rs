//! Inputs for a model that somebody else made.

use std::collections::{BTreeMap, BTreeSet};

use twinfer_case::{Case, Expectation, Recipe, Regime, Request, Run, TensorSource};
use twinfer_onnx::{DataType, Dim, Graph, ValueInfo, infer_shapes};

use crate::Failure;

/// The extents that a symbolic dimension is tried with.
const EXTENTS: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// `N=4`
pub fn parse_extent(text: &str) -> Result<(String, usize), String> {
    let (name, extent) = text.split_once('=').ok_or("give NAME=N")?;
    let extent = extent.parse().map_err(|_| format!("{extent:?} is no extent"))?;
    Ok((name.to_owned(), extent))
}

/// `count` cases of the graph: integers, for which the true result is exact, and normal values in turn.
pub fn cases(graph: &Graph, given: &[(String, usize)], seed: u64, count: u64) -> Result<Vec<Case>, Failure> {
    let shapes = shapes(graph, given)?;
    let case = |index: u64| Case {
        graph: graph.clone(),
        request: Request { precision: precision(graph), tf32: false },
        runs: vec![Run { inputs: inputs(graph, &shapes, seed.wrapping_add(index), index) }],
        expectation: Expectation::Valid,
        provenance: None,
    };
    Ok((0..count).map(case).collect())
}

fn inputs(graph: &Graph, shapes: &[Vec<usize>], seed: u64, index: u64) -> Vec<TensorSource> {
    let regime =
        if index.is_multiple_of(2) { Regime::Exact { limit: 8, exponent: 0 } } else { Regime::Gaussian };
    let recipe = |(place, (input, shape)): (usize, (&ValueInfo, &Vec<usize>))| {
        let seed = seed.wrapping_mul(1 << 8).wrapping_add(place as u64);
        TensorSource::Recipe(Recipe { dtype: input.dtype, shape: shape.clone(), regime, seed })
    };
    graph.inputs.iter().zip(shapes).enumerate().map(recipe).collect()
}

fn precision(graph: &Graph) -> DataType {
    graph.inputs.first().map_or(DataType::Float, |input| input.dtype)
}

/// Concrete shapes of the inputs: symbolic extents as given, the others the smallest that the graph takes.
fn shapes(graph: &Graph, given: &[(String, usize)]) -> Result<Vec<Vec<usize>>, Failure> {
    let known: BTreeMap<&str, usize> = given.iter().map(|(name, extent)| (name.as_str(), *extent)).collect();
    if let Some(name) = known.keys().find(|name| !symbols(graph).contains(*name)) {
        return Err(Failure::usage(format!(
            "the model has no dimension {name:?}: it has {:?}",
            symbols(graph)
        )));
    }
    let mut reason = String::new();
    for extent in EXTENTS {
        let shapes =
            graph.inputs.iter().map(|input| shape(input, &known, extent)).collect::<Result<Vec<_>, _>>()?;
        match infer_shapes(graph, &shapes) {
            Ok(_) => return Ok(shapes),
            Err(violation) => reason = violation.to_string(),
        }
    }
    Err(Failure::usage(format!(
        "no shape of the inputs fits the model: {reason}: give extents with --dim NAME=N"
    )))
}

fn shape(input: &ValueInfo, known: &BTreeMap<&str, usize>, otherwise: usize) -> Result<Vec<usize>, Failure> {
    let undeclared =
        || Failure::usage(format!("input {:?} declares no shape: declare one in the model", input.name));
    let dims = input.shape.as_ref().ok_or_else(undeclared)?;
    let extent = |dim: &Dim| match dim {
        Dim::Fixed(extent) => *extent,
        Dim::Symbolic(name) => known.get(name.as_str()).copied().unwrap_or(otherwise),
    };
    Ok(dims.iter().map(extent).collect())
}

fn symbols(graph: &Graph) -> BTreeSet<&str> {
    let dims = graph.inputs.iter().filter_map(|input| input.shape.as_ref()).flatten();
    dims.filter_map(|dim| match dim {
        Dim::Symbolic(name) => Some(name.as_str()),
        Dim::Fixed(_) => None,
    })
    .collect()
}
