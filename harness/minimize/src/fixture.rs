//! Cases for unit tests.

use twinfer_case::{Case, Expectation, Request, Run, TensorSource};
use twinfer_onnx::{DataType, Graph, Node, Op, Tensor, TensorData, ValueInfo};

/// A case of `nodes`, the last of which gives the output, on an input of shape [1, 2].
pub fn case(nodes: Vec<Node>) -> Case {
    let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
    let x = Tensor::new(vec![1, 2], TensorData::Float(vec![1.0, 2.0])).expect("two elements");
    let output = nodes.last().map_or_else(String::new, |node| node.outputs[0].clone());
    Case {
        graph: Graph {
            opset: 20,
            inputs: vec![value("x")],
            initializers: vec![],
            nodes,
            outputs: vec![value(&output)],
        },
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs: vec![TensorSource::Data(x)] }],
        expectation: Expectation::Valid,
        provenance: None,
    }
}

/// A node that is called like its output; an empty input is absent.
pub fn node(op: Op, inputs: [&str; 2], output: &str) -> Node {
    let inputs = inputs.into_iter().filter(|input| !input.is_empty()).map(str::to_owned).collect();
    Node { name: output.to_owned(), op, inputs, outputs: vec![output.to_owned()] }
}
