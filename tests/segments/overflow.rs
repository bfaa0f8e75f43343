//! A sum that overflows a 16-bit float in front of a quantizer.

use twinfer_case::{Case, Expectation, Request, Run, TensorSource};
use twinfer_onnx::{DataType, Graph, Initializer, Node, Op, QuantizeLinear, Tensor, ValueInfo};

/// x + x for x = 60000 and 1, which is infinity and 2, quantized to INT8 in steps of ¼. Another node may read the sum as well, so that backends
/// do not fuse it.
pub fn quantized_overflow(is_read_twice: bool) -> Case {
    let tensor = |dtype, numbers: &[f64]| {
        let shape = if numbers.len() == 1 { Vec::new() } else { vec![numbers.len()] };
        Tensor::from_f64(dtype, shape, numbers).expect("numbers of the type")
    };
    let value = |name: &str, dtype| ValueInfo { name: name.to_owned(), dtype, shape: None };
    let node = |op, name: &str, inputs: &[&str]| Node {
        name: name.to_owned(),
        op,
        inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
        outputs: vec![format!("{name}_out")],
    };
    let constant = |name: &str, tensor| Initializer { name: name.to_owned(), tensor };
    let x = tensor(DataType::Float16, &[60000.0, 1.0]);
    let input = ValueInfo { shape: Some(vec![twinfer_onnx::Dim::Fixed(2)]), ..value("x", DataType::Float16) };
    let mut outputs = vec![value("quantize_out", DataType::Int8)];
    let mut nodes = vec![
        node(Op::Add, "add", &["x", "x"]),
        node(Op::QuantizeLinear(QuantizeLinear::default()), "quantize", &["add_out", "scale", "zero_point"]),
    ];
    if is_read_twice {
        nodes.push(node(Op::Relu, "relu", &["add_out"]));
        outputs.push(value("relu_out", DataType::Float16));
    }
    Case {
        graph: Graph {
            opset: 21,
            inputs: vec![input],
            initializers: vec![
                constant("scale", tensor(DataType::Float16, &[0.25])),
                constant("zero_point", tensor(DataType::Int8, &[0.0])),
            ],
            nodes,
            outputs,
        },
        request: Request { precision: DataType::Float16, tf32: false },
        runs: vec![Run { inputs: vec![TensorSource::Data(x)] }],
        expectation: Expectation::Valid,
        provenance: None,
    }
}
