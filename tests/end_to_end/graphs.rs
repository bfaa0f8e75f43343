//! Small models for tests.

use std::fs;

use tempfile::TempDir;
use twinfer_onnx::{Conv, DataType, Dim, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo};

/// An image of one channel.
pub fn image(name: &str) -> ValueInfo {
    let shape = Some([1, 1, 4, 4].map(Dim::Fixed).to_vec());
    ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape }
}

pub fn initializer(name: &str, shape: &[usize], data: TensorData) -> Initializer {
    Initializer { name: name.to_owned(), tensor: Tensor { shape: shape.to_vec(), data } }
}

/// A node whose output is called `NAME_out`.
pub fn node(name: &str, op: Op, inputs: &[&str]) -> Node {
    let inputs = inputs.iter().map(|&input| input.to_owned()).collect();
    Node { name: name.to_owned(), op, inputs, outputs: vec![format!("{name}_out")] }
}

/// A convolution with a kernel of three positions on each axis that keeps the size of an image.
pub fn padded_conv() -> Op {
    Op::Conv(Conv { pads: Some(vec![1, 1, 1, 1]), ..Conv::default() })
}

/// A folder with the graph as `model.onnx`.
pub fn stored(graph: &Graph) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("model.onnx"), graph.encode()).unwrap();
    folder
}

/// Replaces the operator Relu of a model by Tanh, which golden does not support.
pub fn make_relu_unknown(model: &TempDir) {
    replace_operator(model, "Relu", "Tanh");
}

/// Replaces an operator of a model by another one whose name is as long.
pub fn replace_operator(model: &TempDir, from: &str, to: &str) {
    let path = model.path().join("model.onnx");
    let mut bytes = fs::read(&path).unwrap();
    let place = bytes.windows(from.len()).position(|word| word == from.as_bytes()).unwrap();
    bytes[place..place + to.len()].copy_from_slice(to.as_bytes());
    fs::write(path, bytes).unwrap();
}
