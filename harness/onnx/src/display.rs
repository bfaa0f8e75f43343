//! Graphs in one line.

use std::fmt;

use crate::{
    DataType, Dim, Graph, Node, Op, TensorType, ValueInfo, attributes,
    proto::{AttributeProto, TensorProto, attribute_type},
};

/// Attributes that change nothing in inference with one output.
const WITHOUT_EFFECT: [&str; 3] = ["momentum", "storage_order", "training_mode"];

/// The nodes in order, each with the attributes that are present and its inputs, where an initializer has its type as
/// `name:type`, a graph input as `name=type`, and an omitted optional input is `-`:
/// `ConvTranspose(strides=[2]) x=f32[1,1,3] w:f32[1,1,2]; Relu y`.
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, node) in self.nodes.iter().enumerate() {
            if place > 0 {
                f.write_str("; ")?;
            }
            f.write_str(&self.text_of_node(node))?;
        }
        Ok(())
    }
}

impl Graph {
    fn text_of_node(&self, node: &Node) -> String {
        let inputs: Vec<_> = node.inputs.iter().map(|name| self.text_of_value(name)).collect();
        format!("{}{} {}", node.op.op_type(), text_of_attributes(&node.op), inputs.join(" "))
    }

    fn text_of_value(&self, name: &str) -> String {
        if name.is_empty() {
            return "-".to_owned();
        }
        if let Some(tensor) = self.initializer(name) {
            return format!("{name}:{}", text_of_type(tensor.dtype(), &tensor.shape));
        }
        self.input(name).map_or_else(|| name.to_owned(), |input| format!("{name}={}", text_of_input(input)))
    }
}

fn text_of_attributes(op: &Op) -> String {
    let written = attributes::write(op);
    let shown = written.iter().filter(|attribute| !WITHOUT_EFFECT.contains(&attribute.name.as_str()));
    let texts: Vec<_> = shown.map(text_of_attribute).collect();
    if texts.is_empty() { String::new() } else { format!("({})", texts.join(", ")) }
}

fn text_of_attribute(attribute: &AttributeProto) -> String {
    format!("{}={}", attribute.name, text_of_attribute_value(attribute))
}

/// The value of an attribute, such as `[2,1]`; for a tensor its type.
pub fn text_of_attribute_value(attribute: &AttributeProto) -> String {
    match attribute.r#type {
        attribute_type::FLOAT => attribute.f.unwrap_or_default().to_string(),
        attribute_type::INT => attribute.i.unwrap_or_default().to_string(),
        attribute_type::INTS => bracketed(&attribute.ints),
        attribute_type::TENSOR => attribute.t.as_deref().map_or_else(String::new, text_of_constant),
        _ => String::from_utf8_lossy(attribute.s.as_deref().unwrap_or_default()).into_owned(),
    }
}

fn text_of_constant(value: &TensorProto) -> String {
    DataType::from_onnx_code(value.data_type)
        .map_or_else(String::new, |dtype| text_of_type(dtype, &value.dims))
}

fn text_of_input(input: &ValueInfo) -> String {
    match &input.shape {
        Some(shape) => text_of_type(input.dtype, shape),
        None => abbreviation(input.dtype).to_owned(),
    }
}

fn text_of_type(dtype: DataType, shape: &[impl ToString]) -> String {
    format!("{}{}", abbreviation(dtype), bracketed(shape))
}

fn bracketed(items: &[impl ToString]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    format!("[{}]", items.join(","))
}

const fn abbreviation(dtype: DataType) -> &'static str {
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
    }
}

/// Such as `f32[1,3,8]`.
impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text_of_type(self.dtype, &self.shape))
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(extent) => write!(f, "{extent}"),
            Self::Symbolic(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BatchNormalization, ConvTranspose, Initializer, MaxPool, Tensor, TensorData};

    fn node(op: Op, inputs: &[&str], output: &str) -> Node {
        Node {
            name: output.to_owned(),
            op,
            inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
            outputs: vec![output.to_owned()],
        }
    }

    #[test]
    fn graph_display_is_one_line_with_onnx_names() {
        let deconv = ConvTranspose {
            auto_pad: Some(crate::AutoPad::SameUpper),
            group: Some(2),
            output_padding: Some(vec![1]),
            strides: Some(vec![2]),
            ..ConvTranspose::default()
        };
        let pool = MaxPool { kernel_shape: vec![2, 3], storage_order: Some(0), ..MaxPool::default() };
        let norm = BatchNormalization { epsilon: Some(0.001), momentum: Some(0.9), training_mode: Some(0) };
        let input = |name: &str, shape| ValueInfo { name: name.to_owned(), dtype: DataType::Float16, shape };
        let graph = Graph {
            opset: 17,
            inputs: vec![
                input("x", Some(vec![Dim::Symbolic("N".to_owned()), Dim::Fixed(2), Dim::Fixed(3)])),
                input("s", None),
            ],
            initializers: vec![Initializer {
                name: "w".to_owned(),
                tensor: Tensor { shape: vec![2, 1, 2], data: TensorData::Float(vec![1.0; 4]) },
            }],
            nodes: vec![
                node(Op::Identity, &["w"], "v"),
                node(Op::ConvTranspose(deconv), &["x", "v", ""], "y"),
                node(Op::MaxPool(pool), &["y"], "z"),
                node(Op::BatchNormalization(norm), &["z", "s"], "n"),
            ],
            outputs: Vec::new(),
        };
        assert_eq!(
            graph.to_string(),
            "Identity w:f32[2,1,2]; ConvTranspose(auto_pad=SAME_UPPER, group=2, output_padding=[1], strides=[2]) \
             x=f16[N,2,3] v -; MaxPool(kernel_shape=[2,3]) y; BatchNormalization(epsilon=0.001) z s=f16"
        );
    }
}
