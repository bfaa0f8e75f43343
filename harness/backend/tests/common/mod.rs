//! Graphs and their parts, for tests against real libraries.

use twinfer_case::{Case, Expectation, Request, Run, TensorSource};
use twinfer_onnx::{
    Conv, ConvTranspose, DataType, DequantizeLinear, Dim, Graph, Initializer, Node, Op, QuantizeLinear,
    Tensor, TensorData, ValueInfo,
};

/// A float value of the graph with these extents.
pub fn value(name: &str, extents: &[Dim]) -> ValueInfo {
    ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: Some(extents.to_vec()) }
}

pub fn fixed(extents: &[usize]) -> Vec<Dim> {
    extents.iter().copied().map(Dim::Fixed).collect()
}

pub fn initializer(name: &str, tensor: Tensor) -> Initializer {
    Initializer { name: name.to_owned(), tensor }
}

pub fn node(name: &str, op: Op, inputs: &[&str], output: &str) -> Node {
    Node {
        name: name.to_owned(),
        op,
        inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
        outputs: vec![output.to_owned()],
    }
}

/// Small integers that differ from place to place.
pub fn integers(shape: &[usize], seed: usize) -> Vec<f32> {
    let count = shape.iter().product();
    (0..count).map(|place: usize| ((place * 7 + seed * 3) % 9) as f32 - 4.0).collect()
}

pub fn floats(shape: &[usize], seed: usize) -> Tensor {
    Tensor { shape: shape.to_vec(), data: TensorData::Float(integers(shape, seed)) }
}

/// A valid case with a run for each list of inputs.
pub fn case(graph: Graph, runs: Vec<Vec<Tensor>>) -> Case {
    let run = |inputs: Vec<Tensor>| Run { inputs: inputs.into_iter().map(TensorSource::Data).collect() };
    Case {
        graph,
        request: Request { precision: DataType::Float, tf32: false },
        runs: runs.into_iter().map(run).collect(),
        expectation: Expectation::Valid,
        provenance: None,
    }
}

/// How a quantized convolution is made.
#[derive(Clone, Copy)]
pub struct Quantized {
    pub is_transposed: bool,
    pub channels: (usize, usize),
    pub group: usize,
    pub is_per_channel: bool,
}

/// A convolution between quantizer pairs: int8, scales that are powers of two, inputs on the grid of theirs.
pub fn quantized(form: Quantized) -> Case {
    let Quantized { is_transposed, channels: (read, written), group, is_per_channel } = form;
    let kernel = if is_transposed { [read, written / group, 3, 3] } else { [written, read / group, 3, 3] };
    let axis = usize::from(is_transposed);
    let scales = if is_per_channel { [0.25, 0.5].repeat(kernel[axis].div_ceil(2)) } else { vec![0.25] };
    let scale_shape = if is_per_channel { vec![scales.len()] } else { Vec::new() };
    let weights = integers(&kernel, 1).into_iter().map(|value| value as i8).collect();
    let scalar = |value: f32| Tensor { shape: Vec::new(), data: TensorData::Float(vec![value]) };
    let zero = || Tensor { shape: Vec::new(), data: TensorData::Int8(vec![0]) };
    let (group, kernel_shape) = (Some(group as i64), Some(vec![3, 3]));
    let op = if is_transposed {
        Op::ConvTranspose(ConvTranspose { group, kernel_shape, ..ConvTranspose::default() })
    } else {
        Op::Conv(Conv { group, kernel_shape, ..Conv::default() })
    };
    let of_kernel = DequantizeLinear { axis: is_per_channel.then_some(axis as i64) };
    let quantize = || Op::QuantizeLinear(QuantizeLinear::default());
    let dequantize = || Op::DequantizeLinear(DequantizeLinear::default());
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x", &fixed(&[1, read, 8, 8]))],
        initializers: vec![
            initializer("x_scale", scalar(0.5)),
            initializer("zero", zero()),
            initializer("w", Tensor { shape: kernel.to_vec(), data: TensorData::Int8(weights) }),
            initializer(
                "w_scale",
                Tensor { shape: scale_shape.clone(), data: TensorData::Float(scales.clone()) },
            ),
            initializer(
                "w_zero",
                Tensor { shape: scale_shape, data: TensorData::Int8(vec![0; scales.len()]) },
            ),
            initializer("y_scale", scalar(2.0)),
        ],
        nodes: vec![
            node("quantize_x", quantize(), &["x", "x_scale", "zero"], "xq"),
            node("dequantize_x", dequantize(), &["xq", "x_scale", "zero"], "xd"),
            node("dequantize_w", Op::DequantizeLinear(of_kernel), &["w", "w_scale", "w_zero"], "wd"),
            node("conv", op, &["xd", "wd"], "c"),
            node("quantize_y", quantize(), &["c", "y_scale", "zero"], "cq"),
            node("dequantize_y", dequantize(), &["cq", "y_scale", "zero"], "y"),
        ],
        outputs: vec![ValueInfo { name: "y".to_owned(), dtype: DataType::Float, shape: None }],
    };
    case(graph, vec![vec![floats(&[1, read, 8, 8], 3)]])
}
