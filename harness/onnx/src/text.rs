//! Graphs in ONNX's text form.

use std::fmt;

use crate::{
    DataType, Dim, Graph, Initializer, Node, Tensor, ValueInfo, attributes,
    encode::ir_version,
    proto::{AttributeProto, attribute_type},
    tensor_proto,
};

/// The length of a line of initializers, unless one initializer takes more.
const LINE: usize = 100;

/// A graph in the text form of ONNX's own parser and printer, several lines long.
///
/// Source: onnx/docs/Syntax.md. `onnx.parser.parse_model` reads it back, except elements that were left out and 16-bit floats, for
/// which its syntax has no literals.
#[derive(Clone, Copy, Debug)]
pub struct GraphText<'a> {
    graph: &'a Graph,
    most_elements: usize,
}

impl Graph {
    /// The graph in ONNX's text form; of each tensor at most `most_elements` elements are written, and how many are left out.
    ///
    /// ```
    /// # use twinfer_onnx::{DataType, Graph, Node, Op, ValueInfo};
    /// # let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
    /// # let graph = Graph {
    /// #     opset: 17,
    /// #     inputs: vec![value("x")],
    /// #     initializers: vec![],
    /// #     nodes: vec![Node {
    /// #         name: "relu".to_owned(),
    /// #         op: Op::Relu,
    /// #         inputs: vec!["x".to_owned()],
    /// #         outputs: vec!["y".to_owned()],
    /// #     }],
    /// #     outputs: vec![value("y")],
    /// # };
    /// assert_eq!(
    ///     graph.text(64).to_string(),
    ///     r#"<ir_version: 8, opset_import: ["" : 17]>
    /// twinfer (float[] x) => (float[] y) {
    ///   y = Relu(x)
    /// }"#
    /// );
    /// ```
    pub const fn text(&self, most_elements: usize) -> GraphText<'_> {
        GraphText { graph: self, most_elements }
    }
}

impl Tensor {
    /// The tensor in ONNX's text form with its first `most_elements` elements, such as `float[2] {1, -0.5}`.
    pub fn text(&self, most_elements: usize) -> String {
        format!("{} {}", tensor_type(self), elements(self, most_elements))
    }
}

impl fmt::Display for GraphText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let graph = self.graph;
        let (ir_version, opset) = (ir_version(graph.opset), graph.opset);
        writeln!(f, r#"<ir_version: {ir_version}, opset_import: ["" : {opset}]>"#)?;
        let (inputs, outputs) = (list(&graph.inputs, value), list(&graph.outputs, value));
        write!(f, "twinfer ({inputs}) => ({outputs})")?;
        if graph.initializers.is_empty() {
            f.write_str(" {\n")?;
        } else {
            let initializers = graph.initializers.iter().map(|initializer| self.initializer(initializer));
            writeln!(f, "\n<{}>\n{{", filled(initializers))?;
        }
        for node in &graph.nodes {
            writeln!(f, "  {}", self.node(node))?;
        }
        f.write_str("}")
    }
}

impl GraphText<'_> {
    fn initializer(&self, Initializer { name, tensor }: &Initializer) -> String {
        format!("{} {} = {}", tensor_type(tensor), identifier(name), elements(tensor, self.most_elements))
    }

    fn node(&self, node: &Node) -> String {
        let attributes = attributes::write(&node.op);
        let attributes = list(&attributes, |attribute| self.attribute(attribute));
        let attributes = if attributes.is_empty() { attributes } else { format!(" <{attributes}> ") };
        let (inputs, outputs) = (&node.inputs, &node.outputs);
        let (inputs, outputs) =
            (list(inputs, |name| identifier(name)), list(outputs, |name| identifier(name)));
        format!("{outputs} = {}{attributes}({inputs})", node.op.op_type())
    }

    fn attribute(&self, attribute: &AttributeProto) -> String {
        let value = match attribute.r#type {
            attribute_type::FLOAT => format!("{:?}", attribute.f.unwrap_or_default()),
            attribute_type::INT => attribute.i.unwrap_or_default().to_string(),
            attribute_type::INTS => format!("[{}]", list(&attribute.ints, ToString::to_string)),
            attribute_type::TENSOR => {
                let tensor =
                    attribute.t.as_deref().cloned().and_then(|proto| tensor_proto::tensor(proto).ok());
                tensor.map_or_else(String::new, |tensor| tensor.text(self.most_elements))
            }
            _ => format!("{:?}", String::from_utf8_lossy(attribute.s.as_deref().unwrap_or_default())),
        };
        format!("{} = {value}", attribute.name)
    }
}

/// The texts separated by commas, as many on a line as it has room for; later lines are indented by one.
fn filled(texts: impl Iterator<Item = String>) -> String {
    let (mut filled, mut width) = (String::new(), 0);
    for text in texts {
        let length = text.chars().count() + ", ".len();
        if width > 0 {
            let fits = width + length <= LINE;
            filled.push_str(if fits { ", " } else { ",\n " });
            width = if fits { width } else { 0 };
        }
        width += length;
        filled.push_str(&text);
    }
    filled
}

/// The texts of `items`, separated by commas.
fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// A value's type, shape and name; `[]` says that no shape is declared.
fn value(value: &ValueInfo) -> String {
    let extent = |dim: &Dim| match dim {
        Dim::Fixed(extent) => extent.to_string(),
        Dim::Symbolic(name) if name.is_empty() => "?".to_owned(),
        Dim::Symbolic(name) => identifier(name),
    };
    let shape = match value.shape.as_deref() {
        None => "[]".to_owned(),
        Some([]) => String::new(),
        Some(dims) => format!("[{}]", dims.iter().map(extent).collect::<Vec<_>>().join(",")),
    };
    format!("{}{shape} {}", type_name(value.dtype), identifier(&value.name))
}

fn tensor_type(tensor: &Tensor) -> String {
    let extents: Vec<_> = tensor.shape.iter().map(ToString::to_string).collect();
    let shape = if extents.is_empty() { String::new() } else { format!("[{}]", extents.join(",")) };
    format!("{}{shape}", type_name(tensor.dtype()))
}

/// The elements in braces; those beyond the first `most` are counted.
fn elements(tensor: &Tensor, most: usize) -> String {
    let is_half = matches!(tensor.dtype(), DataType::Float16 | DataType::Bfloat16);
    // ONNX reads a 16-bit float without a point as its bits
    let short =
        |text: String| text.strip_suffix(".0").filter(|_| !is_half).map_or(text.clone(), str::to_owned);
    let written: Vec<_> = tensor.element_texts(most).into_iter().map(short).collect();
    let more = tensor.len() - written.len();
    let more = if more == 0 { String::new() } else { format!(", … {more} more") };
    format!("{{{}{more}}}", written.join(", "))
}

/// A name as it is, or in quotes where it is none of C's identifiers.
fn identifier(name: &str) -> String {
    let is_plain = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if name.is_empty() || is_plain(name) { name.to_owned() } else { format!("{name:?}") }
}

const fn type_name(dtype: DataType) -> &'static str {
    match dtype {
        DataType::Float => "float",
        DataType::Float16 => "float16",
        DataType::Bfloat16 => "bfloat16",
        DataType::Double => "double",
        DataType::Int8 => "int8",
        DataType::Uint8 => "uint8",
        DataType::Int32 => "int32",
        DataType::Int64 => "int64",
        DataType::Bool => "bool",
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::{AutoPad, BatchNormalization, ConvTranspose, Op, TensorData};

    #[test]
    fn text_is_in_the_syntax_of_onnx() {
        let value = |name: &str, shape| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape };
        let initializer = |name: &str, shape, data| Initializer {
            name: name.to_owned(),
            tensor: Tensor::new(shape, data).expect("as many elements"),
        };
        let node = |op, inputs: &[&str], output: &str| Node {
            name: String::new(),
            op,
            inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
            outputs: vec![output.to_owned()],
        };
        let deconv = ConvTranspose {
            auto_pad: Some(AutoPad::SameUpper),
            strides: Some(vec![2]),
            ..ConvTranspose::default()
        };
        let norm = BatchNormalization { epsilon: Some(1.0), ..BatchNormalization::default() };
        let constant = Tensor::new(vec![2], TensorData::Int8(vec![-1, 1])).expect("two elements");
        let graph = Graph {
            opset: 17,
            inputs: vec![
                value(
                    "x",
                    Some(vec![Dim::Symbolic("N".to_owned()), Dim::Symbolic(String::new()), Dim::Fixed(3)]),
                ),
                value("scalar", Some(vec![])),
            ],
            initializers: vec![
                initializer("layer.0/weight", vec![1, 1, 4], TensorData::Float(vec![1.0, -0.5, 1e-30, 2.0])),
                initializer("half", vec![], TensorData::Float16(vec![f16::from_f32(3.0)])),
                initializer("mask", vec![2], TensorData::Bool(vec![true, false])),
            ],
            nodes: vec![
                node(Op::Constant(constant), &[], "c"),
                node(Op::ConvTranspose(deconv), &["x", "layer.0/weight", ""], "y"),
                node(Op::BatchNormalization(norm), &["y", "scalar"], "z"),
            ],
            outputs: vec![value("z", None)],
        };
        let text = r#"
<ir_version: 8, opset_import: ["" : 17]>
twinfer (float[N,?,3] x, float scalar) => (float[] z)
<float[1,1,4] "layer.0/weight" = {1, -0.5, 1e-30, … 1 more}, float16 half = {3.0},
 bool[2] mask = {1, 0}>
{
  c = Constant <value = int8[2] {-1, 1}> ()
  y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2]> (x, "layer.0/weight", )
  z = BatchNormalization <epsilon = 1.0> (y, scalar)
}"#;
        assert_eq!(graph.text(3).to_string(), text.trim_start());
    }
}
