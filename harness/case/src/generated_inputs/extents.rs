//! The extents of symbolic dimensions.

use std::collections::{BTreeMap, BTreeSet};

use twinfer_onnx::{Dim, Graph, Node, Op, Rule, RuleViolation, ValueInfo, infer_shapes};

use super::unfit_model::UnfitModel;

/// Extents that are tried, in order, for a symbolic dimension without a given extent.
const EXTENTS: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// The most elements of all computed values for which extents are larger than they have to be.
const MOST_ELEMENTS: usize = 1 << 22;

/// Concrete shapes of the inputs: symbolic dimensions as given, the other spatial ones all with one of [`EXTENTS`], and the rest with the
/// smallest. If the graph accepts none of these, all have one of [`EXTENTS`].
pub fn shapes(graph: &Graph, given: &[(String, usize)]) -> Result<Vec<Vec<usize>>, UnfitModel> {
    let known = known(&graph.inputs, given)?;
    let open: Vec<_> =
        symbols(&graph.inputs).into_iter().filter(|symbol| !known.contains_key(symbol)).collect();
    let mut with_smallest = known.clone();
    with_smallest.extend(not_spatial(&graph.inputs, &open).map(|symbol| (symbol, EXTENTS[0])));
    for known in [&with_smallest, &known] {
        let tried = EXTENTS.into_iter().map(|extent| Candidate::new(graph, known, extent));
        let tried = tried.collect::<Result<Vec<_>, _>>()?;
        if let Some(best) = best(tried) {
            return Ok(best);
        }
    }
    let violation = |extent| {
        let shapes = all_shapes(&graph.inputs, &known, extent)?;
        Ok::<_, UnfitModel>(infer_shapes(graph, &shapes).err())
    };
    let violations: Vec<_> = EXTENTS.into_iter().map(violation).collect::<Result<_, _>>()?;
    let violations: Vec<_> = violations.into_iter().flatten().collect();
    Err(refusal(violations, open.first().copied()))
}

/// Shapes of the inputs of a model of which nothing else is known: symbolic dimensions as given, other spatial ones with the largest of
/// [`EXTENTS`], which most networks can halve often enough, and the rest with the smallest.
pub fn unchecked_shapes(
    inputs: &[ValueInfo],
    given: &[(String, usize)],
) -> Result<Vec<Vec<usize>>, UnfitModel> {
    let mut known = known(inputs, given)?;
    let open: Vec<_> = symbols(inputs).into_iter().filter(|symbol| !known.contains_key(symbol)).collect();
    known.extend(not_spatial(inputs, &open).map(|symbol| (symbol, EXTENTS[0])));
    all_shapes(inputs, &known, EXTENTS[EXTENTS.len() - 1])
}

/// Shapes that a graph accepts.
struct Candidate {
    shapes: Vec<Vec<usize>>,
    /// The spatial axes of windows that have more than one position: along any other, strides and half of the padding change nothing.
    axes_with_several_positions: usize,
    /// The elements of all values that nodes compute.
    elements: usize,
}

impl Candidate {
    /// The shapes with this extent where `known` has none; `None` if the graph does not accept them.
    fn new(graph: &Graph, known: &BTreeMap<&str, usize>, extent: usize) -> Result<Option<Self>, UnfitModel> {
        let shapes = all_shapes(&graph.inputs, known, extent)?;
        let Ok(inferred) = infer_shapes(graph, &shapes) else { return Ok(None) };
        let extents = |name: &String| inferred.get(name).map_or(&[][..], |value| &value.shape);
        let positions = |node: &Node| match node.op {
            Op::Conv(_) | Op::MaxPool(_) | Op::AveragePool(_) => node.outputs.first().map(extents),
            Op::ConvTranspose(_) => node.inputs.first().map(extents),
            _ => None,
        };
        let spatial = graph.nodes.iter().filter_map(positions).flat_map(|shape| shape.iter().skip(2));
        let axes_with_several_positions = spatial.filter(|positions| **positions > 1).count();
        let computed = graph.nodes.iter().flat_map(|node| &node.outputs).map(extents);
        let elements = computed.map(|shape| shape.iter().product::<usize>()).sum();
        Ok(Some(Self { shapes, axes_with_several_positions, elements }))
    }
}

/// The smallest shapes, if there are any, or larger ones along which more windows have several positions, unless they take long.
fn best(candidates: Vec<Option<Candidate>>) -> Option<Vec<Vec<usize>>> {
    let mut valid = candidates.into_iter().flatten();
    let smallest = valid.next()?;
    let more_positions = |best: Candidate, next: Candidate| {
        let has_more = next.axes_with_several_positions > best.axes_with_several_positions;
        if has_more && next.elements <= MOST_ELEMENTS { next } else { best }
    };
    Some(valid.fold(smallest, more_positions).shapes)
}

/// The symbols that are not the extent of a spatial axis of any input.
fn not_spatial<'s>(inputs: &[ValueInfo], symbols: &[&'s str]) -> impl Iterator<Item = &'s str> {
    let spatial = inputs.iter().filter_map(|input| input.shape.as_ref()).flat_map(|dims| dims.iter().skip(2));
    let spatial: Vec<_> = spatial.filter_map(symbol).collect();
    let mut others = symbols.to_vec();
    others.retain(|symbol| !spatial.contains(symbol));
    others.into_iter()
}

fn all_shapes(
    inputs: &[ValueInfo],
    known: &BTreeMap<&str, usize>,
    otherwise: usize,
) -> Result<Vec<Vec<usize>>, UnfitModel> {
    inputs.iter().map(|input| shape(input, known, otherwise)).collect()
}

/// Why the model has no inputs: what it breaks with each of the [`EXTENTS`], and a dimension that was not given, if there is one.
fn refusal(mut violations: Vec<RuleViolation>, open: Option<&str>) -> UnfitModel {
    let Some(last) = violations.pop() else { return UnfitModel::NoShapes };
    if violations.first().unwrap_or(&last).rule == Rule::SizeLimit {
        return UnfitModel::TooLarge(violations.into_iter().next().unwrap_or(last));
    }
    // a mistake that is the same with large extents and with larger ones is not one of extents
    let depends_on_extents = violations.last() != Some(&last);
    match open.filter(|_| depends_on_extents) {
        Some(name) => UnfitModel::Extents { violation: last, open: name.to_owned() },
        None => UnfitModel::Invalid(last),
    }
}

/// The given extents by dimension name; each name must occur in some input.
fn known<'a>(
    inputs: &[ValueInfo],
    given: &'a [(String, usize)],
) -> Result<BTreeMap<&'a str, usize>, UnfitModel> {
    let symbols = symbols(inputs);
    let mut names = BTreeSet::new();
    if let Some((name, _)) = given.iter().find(|(name, _)| !names.insert(name)) {
        return Err(UnfitModel::GivenTwice(name.clone()));
    }
    match given.iter().find(|(name, _)| !symbols.contains(name.as_str())) {
        Some((name, _)) => Err(UnfitModel::NoSuchDimension {
            name: name.clone(),
            known: symbols.into_iter().map(str::to_owned).collect(),
        }),
        None => Ok(given.iter().map(|(name, extent)| (name.as_str(), *extent)).collect()),
    }
}

fn shape(
    input: &ValueInfo,
    known: &BTreeMap<&str, usize>,
    otherwise: usize,
) -> Result<Vec<usize>, UnfitModel> {
    let undeclared = || UnfitModel::UndeclaredShape(input.name.clone());
    let dims = input.shape.as_ref().ok_or_else(undeclared)?;
    let extent = |dim: &Dim| match dim {
        Dim::Fixed(extent) => *extent,
        Dim::Symbolic(name) => known.get(name.as_str()).copied().unwrap_or(otherwise),
    };
    Ok(dims.iter().map(extent).collect())
}

fn symbols(inputs: &[ValueInfo]) -> BTreeSet<&str> {
    let dims = inputs.iter().filter_map(|input| input.shape.as_ref()).flatten();
    dims.filter_map(symbol).collect()
}

fn symbol(dim: &Dim) -> Option<&str> {
    match dim {
        Dim::Symbolic(name) => Some(name.as_str()),
        Dim::Fixed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{DataType, MaxPool};

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
    fn extents_are_to_blame_only_if_some_are_open() {
        let refusal = |given: &[(String, usize)]| shapes(&addition(), given).unwrap_err();
        assert!(matches!(refusal(&[]), UnfitModel::Extents { open, .. } if open == "N"));
        assert!(matches!(refusal(&[("N".to_owned(), 5)]), UnfitModel::Invalid(_)));
        let mut broken = addition();
        broken.nodes[0].inputs[1] = "nowhere".to_owned();
        let reason = shapes(&broken, &[]).unwrap_err();
        assert!(matches!(&reason, UnfitModel::Invalid(_)), "no extent helps: {reason}");
        let twice = [("N".to_owned(), 3), ("N".to_owned(), 4)];
        assert!(matches!(refusal(&twice), UnfitModel::GivenTwice(name) if name == "N"));
        assert_eq!(shapes(&addition(), &[("N".to_owned(), 3)]).unwrap(), [[3], [3]]);
    }

    /// A `MaxPool` with a stride of 2 of an image `[N, 3, H, W]`.
    fn pooling() -> Graph {
        let dim = |name: &str| Dim::Symbolic(name.to_owned());
        let image = ValueInfo {
            name: "x".to_owned(),
            dtype: DataType::Float,
            shape: Some(vec![dim("N"), Dim::Fixed(3), dim("H"), dim("W")]),
        };
        let pool = MaxPool { kernel_shape: vec![3, 3], strides: Some(vec![2, 2]), ..MaxPool::default() };
        let node = Node {
            name: "pool".to_owned(),
            op: Op::MaxPool(pool),
            inputs: vec!["x".to_owned()],
            outputs: vec!["y".to_owned()],
        };
        let output = ValueInfo { name: "y".to_owned(), dtype: DataType::Float, shape: None };
        Graph {
            opset: 17,
            inputs: vec![image],
            initializers: Vec::new(),
            nodes: vec![node],
            outputs: vec![output],
        }
    }

    #[test]
    fn windows_have_several_positions() {
        let shapes = |given: &[(&str, usize)]| {
            let given: Vec<_> = given.iter().map(|(name, extent)| ((*name).to_owned(), *extent)).collect();
            shapes(&pooling(), &given).unwrap().remove(0)
        };
        assert_eq!(shapes(&[]), [2, 3, 8, 8], "four positions have room for one window");
        assert_eq!(shapes(&[("N", 5), ("H", 3)]), [5, 3, 3, 8]);
        assert_eq!(shapes(&[("N", 1 << 18)]), [1 << 18, 3, 4, 4], "larger ones take long");
    }

    #[test]
    fn spatial_extents_of_an_unknown_model_can_be_halved_often() {
        assert_eq!(unchecked_shapes(&pooling().inputs, &[]).unwrap(), [[2, 3, 64, 64]]);
        assert_eq!(unchecked_shapes(&addition().inputs, &[]).unwrap(), [[3], [2]]);
    }
}
