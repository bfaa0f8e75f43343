//! The *classes* of a case: the properties of its graph that go into a signature.

use std::collections::BTreeSet;

use twinfer_case::{Case, Culprit};
use twinfer_onnx::{AutoPad, DataType, Dim, Graph, Node, Op};
use twinfer_segments::named;

/// The class of a case with more than one run.
pub const SEVERAL_RUNS: &str = "several-runs";

/// The properties that distinguish one bug from another in a minimal case: its operators, the attributes that are not at their
/// defaults, and whether it is dynamic, in 16-bit floats, or of several runs. Sorted, without duplicates.
pub fn classes(case: &Case) -> Vec<String> {
    let mut classes = classes_of(&case.graph, case.graph.nodes.iter());
    if case.runs.len() > 1 {
        classes.insert(SEVERAL_RUNS.to_owned());
    }
    let symbolic = |dim: &Dim| matches!(dim, Dim::Symbolic(_));
    if case
        .graph
        .inputs
        .iter()
        .any(|input| input.shape.as_ref().is_some_and(|shape| shape.iter().any(symbolic)))
    {
        classes.insert("dynamic".to_owned());
    }
    let inputs = case.graph.inputs.iter().map(|input| input.dtype);
    let mut dtypes =
        inputs.chain(case.graph.initializers.iter().map(|initializer| initializer.tensor.dtype()));
    if dtypes.any(|dtype| dtype == DataType::Float16) {
        classes.insert("float16".to_owned());
    }
    classes.into_iter().collect()
}

/// The class of what is wrong only inside a case.
const INSIDE: &str = "inside";

/// The classes of the culprit that is wrong only inside a case, which no smaller case shows: those of its nodes, and that it is so.
pub fn classes_inside(case: &Case, culprit: &Culprit) -> Vec<String> {
    let nodes = case.graph.nodes.iter().filter(|node| culprit.has(&named(node)));
    let mut classes = classes_of(&case.graph, nodes);
    classes.insert(INSIDE.to_owned());
    classes.into_iter().collect()
}

/// The operators of some nodes of a graph, and those of their attributes and operands that are not at their defaults.
fn classes_of<'a>(graph: &Graph, nodes: impl Iterator<Item = &'a Node>) -> BTreeSet<String> {
    let mut classes = BTreeSet::new();
    for node in nodes {
        classes.insert(node.op.op_type().to_owned());
        classes.extend(window_classes(&node.op).into_iter().map(str::to_owned));
        if node.op.is_convolution() {
            classes.extend(operand_classes(graph, node).into_iter().map(str::to_owned));
        }
    }
    classes
}

/// Whether classes are those of something that is wrong only inside a case.
pub fn are_inside(classes: &[String]) -> bool {
    classes.iter().any(|class| class == INSIDE)
}

/// The operator types of a case, sorted, without duplicates.
pub fn operators(case: &Case) -> Vec<String> {
    let operators: BTreeSet<_> = case.graph.nodes.iter().map(|node| node.op.op_type().to_owned()).collect();
    operators.into_iter().collect()
}

/// The classes of a case that name its operators with weights, and `DequantizeLinear` if it dequantizes.
pub fn weighted_operators(classes: &[String]) -> Vec<String> {
    let is_weighted =
        |class: &&String| matches!(class.as_str(), "Conv" | "ConvTranspose" | "DequantizeLinear");
    classes.iter().filter(is_weighted).cloned().collect()
}

fn operand_classes(graph: &Graph, node: &Node) -> Vec<&'static str> {
    let constant = |index: usize| node.input(index).map(|name| graph.initializer(name).is_some());
    let mut classes = Vec::new();
    if constant(1) == Some(false) {
        classes.push("computed-weights");
    }
    match constant(2) {
        Some(true) => classes.push("bias"),
        Some(false) => classes.push("computed-bias"),
        None => {}
    }
    classes
}

fn window_classes(op: &Op) -> Vec<&'static str> {
    let Some(window) = op.window() else { return Vec::new() };
    let classes = [
        (window.auto_pad() == AutoPad::SameUpper, "same-upper"),
        (window.auto_pad() == AutoPad::SameLower, "same-lower"),
        (window.auto_pad() == AutoPad::Valid, "valid"),
        (window.is_dilated(), "dilations"),
        (window.group() > 1, "group"),
        (window.kernel_shape.is_none(), "no-kernel_shape"),
        (window.is_padded(), "pads"),
        (window.is_strided(), "strides"),
        (window.has_output_padding(), "output_padding"),
        (window.output_shape.is_some(), "output_shape"),
    ];
    classes.into_iter().filter_map(|(holds, name)| holds.then_some(name)).collect()
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Expectation, Request, Run};
    use twinfer_onnx::{ConvTranspose, Initializer, Tensor, TensorData, ValueInfo};

    use super::*;

    /// A grouped deconvolution of a dynamic input with computed weights, then Relu.
    fn case() -> Case {
        let node = |name: &str, op, inputs: &[&str], output: &str| Node {
            name: name.to_owned(),
            op,
            inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
            outputs: vec![output.to_owned()],
        };
        let deconv = ConvTranspose {
            group: Some(2),
            output_padding: Some(vec![1]),
            strides: Some(vec![2]),
            pads: Some(vec![0, 0]),
            ..ConvTranspose::default()
        };
        let graph = Graph {
            opset: 17,
            inputs: vec![ValueInfo {
                name: "x".to_owned(),
                dtype: DataType::Float16,
                shape: Some(vec![Dim::Symbolic("N".to_owned()), Dim::Fixed(2), Dim::Fixed(3)]),
            }],
            initializers: vec![Initializer {
                name: "w".to_owned(),
                tensor: Tensor { shape: vec![2, 1, 2], data: TensorData::Float(vec![1.0; 4]) },
            }],
            nodes: vec![
                node("a", Op::Identity, &["w"], "v"),
                node("b", Op::ConvTranspose(deconv), &["x", "v", ""], "y"),
                node("c", Op::Relu, &["y"], "z"),
            ],
            outputs: Vec::new(),
        };
        Case {
            graph,
            request: Request { precision: DataType::Float16, tf32: false },
            runs: vec![Run { inputs: Vec::new() }; 2],
            expectation: Expectation::Valid,
            provenance: None,
        }
    }

    #[test]
    fn attributes_that_are_not_defaults_are_classes() {
        assert_eq!(
            classes(&case()),
            [
                "ConvTranspose",
                "Identity",
                "Relu",
                "computed-weights",
                "dynamic",
                "float16",
                "group",
                "no-kernel_shape",
                "output_padding",
                "several-runs",
                "strides"
            ]
        );
        assert_eq!(operators(&case()), ["ConvTranspose", "Identity", "Relu"]);
    }

    #[test]
    fn case_with_a_16_bit_scale_is_in_16_bit_floats() {
        let mut case = case();
        case.graph.inputs[0].dtype = DataType::Int8;
        assert!(!classes(&case).contains(&"float16".to_owned()));
        let scale = Tensor::from_f64(DataType::Float16, Vec::new(), &[1.0]).expect("a scalar");
        case.graph.initializers.push(Initializer { name: "scale".to_owned(), tensor: scale });
        assert!(classes(&case).contains(&"float16".to_owned()));
    }
}
