//! Graphs in one line, and what of a graph matters to a signature.

use std::collections::BTreeSet;

use twinfer_case::Case;
use twinfer_onnx::{AutoPad, DataType, Dim, Graph, Node, Op, ValueInfo};

/// The graph in one line: `ConvTranspose(strides=[2]) x[1,1,3] w[1,1,2]`.
pub fn one_line(graph: &Graph) -> String {
    let nodes: Vec<_> = graph.nodes.iter().map(|node| node_in_words(graph, node)).collect();
    nodes.join("; ")
}

fn node_in_words(graph: &Graph, node: &Node) -> String {
    let attributes: Vec<_> = attributes(&node.op)
        .into_iter()
        .map(|(name, value)| if name.is_empty() { value } else { format!("{name}={value}") })
        .collect();
    let inputs: Vec<_> = node.inputs.iter().map(|name| value_in_words(graph, name)).collect();
    let attributes =
        if attributes.is_empty() { String::new() } else { format!("({})", attributes.join(", ")) };
    format!("{}{attributes} {}", node.op.op_type(), inputs.join(" "))
}

fn value_in_words(graph: &Graph, name: &str) -> String {
    if name.is_empty() {
        return "-".to_owned();
    }
    if let Some(initializer) = graph.initializers.iter().find(|initializer| initializer.name == name) {
        return format!("{name}:{}", tensor_type(initializer.tensor.dtype(), &initializer.tensor.shape));
    }
    match graph.inputs.iter().find(|input| input.name == name) {
        Some(input) => format!("{name}={}", input_type(input)),
        None => name.to_owned(),
    }
}

fn tensor_type(dtype: DataType, shape: &[usize]) -> String {
    let extents: Vec<_> = shape.iter().map(usize::to_string).collect();
    format!("{}[{}]", dtype_word(dtype), extents.join(","))
}

fn input_type(input: &ValueInfo) -> String {
    let Some(shape) = &input.shape else { return dtype_word(input.dtype).to_owned() };
    let extents: Vec<_> = shape
        .iter()
        .map(|dim| match dim {
            Dim::Fixed(extent) => extent.to_string(),
            Dim::Symbolic(name) => name.clone(),
        })
        .collect();
    format!("{}[{}]", dtype_word(input.dtype), extents.join(","))
}

const fn dtype_word(dtype: DataType) -> &'static str {
    match dtype {
        DataType::Float => "f32",
        DataType::Float16 => "f16",
        DataType::Bfloat16 => "bf16",
        DataType::Double => "f64",
        DataType::Int8 => "i8",
        DataType::Uint8 => "u8",
        DataType::Int32 => "i32",
        DataType::Int64 => "i64",
        DataType::Bool => "bool",
        _ => "?",
    }
}

/// The attributes that are present, as ONNX spells them.
fn attributes(op: &Op) -> Vec<(&'static str, String)> {
    let list = |name, value: &Option<Vec<i64>>| {
        value.as_ref().map(|value| (name, format!("{value:?}").replace(' ', "")))
    };
    let number = |name, value: Option<i64>| value.map(|value| (name, value.to_string()));
    let auto_pad = |value: Option<AutoPad>| value.map(|value| ("auto_pad", auto_pad_word(value).to_owned()));
    let present = match op {
        Op::Conv(conv) | Op::ConvInteger(conv) | Op::QLinearConv(conv) => vec![
            auto_pad(conv.auto_pad),
            list("dilations", &conv.dilations),
            number("group", conv.group),
            list("kernel_shape", &conv.kernel_shape),
            list("pads", &conv.pads),
            list("strides", &conv.strides),
        ],
        Op::ConvTranspose(conv) => vec![
            auto_pad(conv.auto_pad),
            list("dilations", &conv.dilations),
            number("group", conv.group),
            list("kernel_shape", &conv.kernel_shape),
            list("output_padding", &conv.output_padding),
            list("output_shape", &conv.output_shape),
            list("pads", &conv.pads),
            list("strides", &conv.strides),
        ],
        Op::MaxPool(pool) => vec![
            auto_pad(pool.auto_pad),
            number("ceil_mode", pool.ceil_mode),
            list("dilations", &pool.dilations),
            list("kernel_shape", &Some(pool.kernel_shape.clone())),
            list("pads", &pool.pads),
            list("strides", &pool.strides),
        ],
        Op::Concat(concat) => vec![number("axis", Some(concat.axis))],
        Op::QuantizeLinear(quantize) => vec![number("axis", quantize.axis)],
        Op::DequantizeLinear(dequantize) => vec![number("axis", dequantize.axis)],
        Op::BatchNormalization(norm) => vec![norm.epsilon.map(|epsilon| ("epsilon", epsilon.to_string()))],
        _ => Vec::new(),
    };
    present.into_iter().flatten().collect()
}

const fn auto_pad_word(auto_pad: AutoPad) -> &'static str {
    match auto_pad {
        AutoPad::NotSet => "NOTSET",
        AutoPad::SameUpper => "SAME_UPPER",
        AutoPad::SameLower => "SAME_LOWER",
        AutoPad::Valid => "VALID",
    }
}

/// What tells one bug from another in a case that is as small as it gets: its operators, and the classes of attributes
/// that are not at their defaults. Sorted, each once.
pub fn classes(case: &Case) -> Vec<String> {
    let mut classes = BTreeSet::new();
    for node in &case.graph.nodes {
        classes.insert(node.op.op_type().to_owned());
        classes.extend(window_classes(&node.op).into_iter().map(str::to_owned));
        if is_window(&node.op) {
            classes.extend(operand_classes(&case.graph, node).into_iter().map(str::to_owned));
        }
    }
    if case.runs.len() > 1 {
        classes.insert("several-runs".to_owned());
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
    if case.graph.inputs.iter().any(|input| input.dtype == DataType::Float16) {
        classes.insert("float16".to_owned());
    }
    classes.into_iter().collect()
}

/// The operators of a case, sorted, each once.
pub fn operators(case: &Case) -> Vec<String> {
    let operators: BTreeSet<_> = case.graph.nodes.iter().map(|node| node.op.op_type().to_owned()).collect();
    operators.into_iter().collect()
}

/// Those of a case's classes that tell which operators with weights it has, and whether they are dequantized.
pub fn weighted_operators(classes: &[String]) -> Vec<String> {
    let tells = |class: &&String| matches!(class.as_str(), "Conv" | "ConvTranspose" | "DequantizeLinear");
    classes.iter().filter(tells).cloned().collect()
}

const fn is_window(op: &Op) -> bool {
    matches!(op, Op::Conv(_) | Op::ConvTranspose(_))
}

fn operand_classes(graph: &Graph, node: &Node) -> Vec<&'static str> {
    let constant = |index: usize| {
        let name = node.inputs.get(index).filter(|name| !name.is_empty())?;
        Some(graph.initializers.iter().any(|initializer| initializer.name == *name))
    };
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
    let (auto_pad, dilations, group, kernel_shape, pads, strides) = match op {
        Op::Conv(conv) => {
            (conv.auto_pad, &conv.dilations, conv.group, &conv.kernel_shape, &conv.pads, &conv.strides)
        }
        Op::ConvTranspose(conv) => {
            (conv.auto_pad, &conv.dilations, conv.group, &conv.kernel_shape, &conv.pads, &conv.strides)
        }
        _ => return Vec::new(),
    };
    let above = |values: &Option<Vec<i64>>, limit| values.iter().flatten().any(|value| *value > limit);
    let mut classes = Vec::new();
    let mut class = |holds: bool, name| {
        if holds {
            classes.push(name);
        }
    };
    class(auto_pad == Some(AutoPad::SameUpper), "same-upper");
    class(auto_pad == Some(AutoPad::SameLower), "same-lower");
    class(auto_pad == Some(AutoPad::Valid), "valid");
    class(above(dilations, 1), "dilations");
    class(group.is_some_and(|group| group > 1), "group");
    class(kernel_shape.is_none(), "no-kernel_shape");
    class(above(pads, 0), "pads");
    class(above(strides, 1), "strides");
    if let Op::ConvTranspose(conv) = op {
        class(above(&conv.output_padding, 0), "output_padding");
        class(conv.output_shape.is_some(), "output_shape");
    }
    classes
}

/// The part of an error that names its kind: what stands before the first colon, where that is short and plain.
pub fn error_code(text: &str) -> Option<String> {
    let (code, _) = text.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-');
    (!code.is_empty() && code.len() <= 40 && code.chars().all(plain)).then(|| code.to_owned())
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Expectation, Request, Run};
    use twinfer_onnx::{ConvTranspose, Initializer, Tensor, TensorData};

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
    fn a_graph_is_one_line_with_onnx_names() {
        assert_eq!(
            one_line(&case().graph),
            "Identity w:f32[2,1,2]; ConvTranspose(group=2, output_padding=[1], pads=[0,0], strides=[2]) \
             x=f16[N,2,3] v -; Relu y"
        );
    }

    #[test]
    fn only_what_differs_from_a_plain_operator_is_a_class() {
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
    fn an_error_is_known_by_its_code_and_not_by_its_text() {
        assert_eq!(error_code("InvalidGraph: node 7 at /tmp/x").as_deref(), Some("InvalidGraph"));
        assert_eq!(error_code("parse error 8: input tensor").as_deref(), Some("parse error 8"));
        assert_eq!(error_code("something at 0x7f: failed (x)").as_deref(), Some("something at 0x7f"));
        assert_eq!(error_code("no colon"), None);
    }
}
