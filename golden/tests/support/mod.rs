//! One-node graphs with asymmetric data.

use twinfer_onnx::{DataType, Graph, Initializer, Node, Op, Tensor, ValueInfo};

/// A tensor of small integers without symmetry, so that a shift or an exchange shows.
pub fn tensor(shape: &[usize], salt: usize) -> Tensor {
    let count = shape.iter().product::<usize>();
    let values: Vec<f64> = (0..count).map(|place| ((place + salt) * 7 % 11) as f64 - 4.0).collect();
    Tensor::from_f64(DataType::Float, shape.to_vec(), &values).expect("as many values as it holds")
}

/// A graph of one operator over input X and initializers W and B, with what X is fed.
pub fn one_node(op: Op, x: &[usize], w: &[usize], bias: usize) -> (Graph, Tensor) {
    let initializer = |name: &str, tensor| Initializer { name: name.to_owned(), tensor };
    let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
    let graph = Graph {
        opset: 22,
        inputs: vec![value("X")],
        initializers: vec![initializer("W", tensor(w, 3)), initializer("B", tensor(&[bias], 5))],
        nodes: vec![Node {
            name: "node".to_owned(),
            op,
            inputs: ["X", "W", "B"].map(str::to_owned).to_vec(),
            outputs: vec!["Y".to_owned()],
        }],
        outputs: vec![value("Y")],
    };
    (graph, tensor(x, 0))
}
