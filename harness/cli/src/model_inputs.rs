//! Generated inputs for a user's model.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU64,
};

use clap::Args;
use twinfer_case::{Case, Expectation, Recipe, Regime, Request, Run, TensorSource};
use twinfer_onnx::{DataType, Dim, Graph, MAX_ELEMENTS, Rule, RuleViolation, ValueInfo, infer_shapes};

use crate::{Failure, whole_number::whole_number};

/// Extents that are tried, in order, for a symbolic dimension without a given extent.
const EXTENTS: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// Which inputs to generate for a model.
#[derive(Clone, Debug, Args)]
pub struct InputArguments {
    /// Input sets to generate for a model; a case has its own
    #[arg(long, default_value = "8", value_parser = whole_number::<NonZeroU64>)]
    cases: NonZeroU64,
    /// Extent of a symbolic dimension [default: the smallest that fits; 2 if golden does not support the model]
    #[arg(long = "dim", value_name = "NAME=N", value_parser = parse_extent)]
    pub dims: Vec<(String, usize)>,
    /// Seed of the generated inputs
    #[arg(long, default_value_t = 0, value_parser = whole_number::<u64>)]
    pub seed: u64,
}

impl InputArguments {
    /// Cases of the graph, whose inputs are alternately small integers (exact regime) and Gaussian (rounding regime).
    pub fn cases(&self, graph: &Graph) -> Result<Vec<Case>, Failure> {
        let shapes = shapes(graph, &self.dims)?;
        let case = |index: u64| Case {
            graph: graph.clone(),
            request: request(&graph.inputs),
            runs: vec![self.run(index, &graph.inputs, &shapes)],
            expectation: Expectation::Valid,
            provenance: None,
        };
        Ok((0..self.cases.get()).map(case).collect())
    }

    /// Runs for a model of which only `inputs` is known, with the same inputs that [`Self::cases`] generates.
    pub fn runs(&self, inputs: &[ValueInfo]) -> Result<Vec<Run>, Failure> {
        let known = known(inputs, &self.dims)?;
        let shapes = inputs.iter().map(|input| shape(input, &known, EXTENTS[0]));
        let shapes = shapes.collect::<Result<Vec<_>, _>>()?;
        Ok((0..self.cases.get()).map(|index| self.run(index, inputs, &shapes)).collect())
    }

    fn run(&self, index: u64, inputs: &[ValueInfo], shapes: &[Vec<usize>]) -> Run {
        Run { inputs: sources(inputs, shapes, self.seed.wrapping_add(index), index) }
    }
}

/// Parses `NAME=N`, such as `batch=4`.
fn parse_extent(text: &str) -> Result<(String, usize), String> {
    let (name, extent) = text.split_once('=').ok_or("give NAME=N, such as batch=4")?;
    let extent: usize =
        extent.parse().map_err(|_| format!("{extent:?} is not a dimension: give a whole number"))?;
    if extent == 0 {
        return Err("a dimension of 0 leaves no values to compare: give at least 1".to_owned());
    }
    Ok((name.to_owned(), extent))
}

fn sources(inputs: &[ValueInfo], shapes: &[Vec<usize>], seed: u64, index: u64) -> Vec<TensorSource> {
    let regime =
        if index.is_multiple_of(2) { Regime::Exact { limit: 8, exponent: 0 } } else { Regime::Gaussian };
    let recipe = |(place, (input, shape)): (usize, (&ValueInfo, &Vec<usize>))| {
        let seed = seed.wrapping_mul(1 << 8).wrapping_add(place as u64);
        TensorSource::Recipe(Recipe { dtype: input.dtype, shape: shape.clone(), regime, seed })
    };
    inputs.iter().zip(shapes).enumerate().map(recipe).collect()
}

/// A request in the precision of the first input; `float` if there are no inputs.
pub fn request(inputs: &[ValueInfo]) -> Request {
    let precision = inputs.first().map_or(DataType::Float, |input| input.dtype);
    Request { precision, tf32: false }
}

/// Concrete shapes of the inputs: symbolic dimensions as given, the others all with the first of [`EXTENTS`] that the graph accepts.
fn shapes(graph: &Graph, given: &[(String, usize)]) -> Result<Vec<Vec<usize>>, Failure> {
    let known = known(&graph.inputs, given)?;
    let open: Vec<_> =
        symbols(&graph.inputs).into_iter().filter(|symbol| !known.contains_key(symbol)).collect();
    let mut violations = Vec::new();
    for extent in EXTENTS {
        let shapes =
            graph.inputs.iter().map(|input| shape(input, &known, extent)).collect::<Result<Vec<_>, _>>()?;
        match infer_shapes(graph, &shapes) {
            Ok(_) => return Ok(shapes),
            Err(violation) => violations.push(violation),
        }
    }
    Err(Failure::usage(refusal(&violations, open.first().copied())))
}

/// Why the model has no cases: what it breaks with each of the [`EXTENTS`], and a dimension that was not given, if there is one.
fn refusal(violations: &[RuleViolation], open: Option<&str>) -> String {
    let Some(last) = violations.last() else { return "the model has no input shapes".to_owned() };
    if last.rule == Rule::SizeLimit {
        return format!(
            "the model is too large for twinfer, whose values have at most {MAX_ELEMENTS} elements: {last}"
        );
    }
    // a mistake that is the same with large extents and with larger ones is not one of extents
    let depends_on_extents = violations.iter().rev().nth(1) != Some(last);
    match open.filter(|_| depends_on_extents) {
        Some(name) => {
            format!(
                "no input shape fits the model: {last}: set its symbolic dimensions, such as --dim {name}=3"
            )
        }
        None => format!("the model is invalid: {last}"),
    }
}

/// The given extents by dimension name; each name must occur in some input.
fn known<'a>(
    inputs: &[ValueInfo],
    given: &'a [(String, usize)],
) -> Result<BTreeMap<&'a str, usize>, Failure> {
    let symbols = symbols(inputs);
    let mut names = BTreeSet::new();
    if let Some((name, _)) = given.iter().find(|(name, _)| !names.insert(name)) {
        return Err(Failure::usage(format!("dimension {name:?} is set twice: give --dim once for it")));
    }
    match given.iter().find(|(name, _)| !symbols.contains(name.as_str())) {
        Some((name, _)) if symbols.is_empty() => Err(Failure::usage(format!(
            "the model has no symbolic dimension {name:?}: its inputs have fixed shapes, so leave --dim out"
        ))),
        Some((name, _)) => Err(Failure::usage(format!(
            "the model has no symbolic dimension {name:?}: give one of {}",
            symbols.iter().map(|symbol| format!("{symbol:?}")).collect::<Vec<_>>().join(", ")
        ))),
        None => Ok(given.iter().map(|(name, extent)| (name.as_str(), *extent)).collect()),
    }
}

fn shape(input: &ValueInfo, known: &BTreeMap<&str, usize>, otherwise: usize) -> Result<Vec<usize>, Failure> {
    let undeclared =
        || Failure::usage(format!("input {:?} has no shape: declare one in the model", input.name));
    let dims = input.shape.as_ref().ok_or_else(undeclared)?;
    let extent = |dim: &Dim| match dim {
        Dim::Fixed(extent) => *extent,
        Dim::Symbolic(name) => known.get(name.as_str()).copied().unwrap_or(otherwise),
    };
    Ok(dims.iter().map(extent).collect())
}

fn symbols(inputs: &[ValueInfo]) -> BTreeSet<&str> {
    let dims = inputs.iter().filter_map(|input| input.shape.as_ref()).flatten();
    dims.filter_map(|dim| match dim {
        Dim::Symbolic(name) => Some(name.as_str()),
        Dim::Fixed(_) => None,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{Node, Op};

    use super::*;

    /// A graph that adds a tensor of shape `[3]` and one of shape `[N]`.
    fn addition() -> Graph {
        let value = |name: &str, dim| ValueInfo {
            name: name.to_owned(),
            dtype: DataType::Float,
            shape: Some(vec![dim]),
        };
        Graph {
            opset: 17,
            inputs: vec![value("a", Dim::Fixed(3)), value("b", Dim::Symbolic("N".to_owned()))],
            initializers: Vec::new(),
            nodes: vec![Node {
                name: "add".to_owned(),
                op: Op::Add,
                inputs: vec!["a".to_owned(), "b".to_owned()],
                outputs: vec!["y".to_owned()],
            }],
            outputs: vec![value("y", Dim::Fixed(3))],
        }
    }

    #[test]
    fn extents_are_positive_whole_numbers() {
        assert_eq!(parse_extent("batch=4"), Ok(("batch".to_owned(), 4)));
        for (text, reason) in [("batch", "NAME=N"), ("batch=x", "whole number"), ("batch=0", "at least 1")] {
            let refusal = parse_extent(text).unwrap_err();
            assert!(refusal.contains(reason), "{refusal}");
        }
    }

    #[test]
    fn error_names_dim_option_only_for_open_dimensions() {
        let refusal = |given: &[(String, usize)]| shapes(&addition(), given).unwrap_err().to_string();
        let open = refusal(&[]);
        assert!(open.ends_with(": set its symbolic dimensions, such as --dim N=3"), "{open}");
        let five = [("N".to_owned(), 5)];
        assert!(!refusal(&five).contains("--dim"), "{}", refusal(&five));
        let mut broken = addition();
        broken.nodes[0].inputs[1] = "nowhere".to_owned();
        let reason = shapes(&broken, &[]).unwrap_err().to_string();
        assert!(reason.starts_with("the model is invalid: value-defined"), "no extent helps: {reason}");
        let twice = [("N".to_owned(), 3), ("N".to_owned(), 4)];
        assert_eq!(refusal(&twice), "dimension \"N\" is set twice: give --dim once for it");
        assert_eq!(shapes(&addition(), &[("N".to_owned(), 3)]).unwrap(), [[3], [3]]);
    }
}
