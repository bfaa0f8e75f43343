//! ONNX models that the tests parse.

use twinfer_onnx::{
    Conv, ConvTranspose, DataType, DequantizeLinear, Dim, Graph, Initializer, Node, Op, QuantizeLinear,
    Tensor, TensorData, ValueInfo,
};

/// A 3×3 convolution of ones with padding 1 over `[batch, 1, 4, 4]`; a batch of `None` is dynamic.
pub fn conv(batch: Option<usize>) -> Graph {
    let attributes = Conv { kernel_shape: Some(vec![3, 3]), pads: Some(vec![1, 1, 1, 1]), ..Conv::default() };
    let batch = batch.map_or_else(|| Dim::Symbolic("N".to_owned()), Dim::Fixed);
    let input = vec![batch, Dim::Fixed(1), Dim::Fixed(4), Dim::Fixed(4)];
    one_node(Op::Conv(attributes), input, floats(&[1, 1, 3, 3], &[1.0; 9]))
}

/// The one-dimensional kernel of two ones with stride 2, here as two-dimensional rows: input `[1, 1, 1, 3]`.
pub fn conv_transpose(pad_end: i64, output_padding: i64) -> Graph {
    let attributes = ConvTranspose {
        kernel_shape: Some(vec![1, 2]),
        strides: Some(vec![1, 2]),
        pads: Some(vec![0, pad_end, 0, pad_end]),
        output_padding: Some(vec![0, output_padding]),
        ..ConvTranspose::default()
    };
    let input = [1, 1, 1, 3].map(Dim::Fixed).to_vec();
    one_node(Op::ConvTranspose(attributes), input, floats(&[1, 1, 1, 2], &[1.0; 2]))
}

/// An int8 convolution of 8 to 8 channels between Q/DQ pairs, weights stored as int8.
pub fn quantized_conv() -> Graph {
    let scalar = |name: &str, value| initializer(name, floats(&[], &[value]));
    let zero = |name: &str| initializer(name, tensor(&[], TensorData::Int8(vec![0])));
    let weights: Vec<i8> = (0..8 * 8 * 9).map(|index| (index * 37 % 255 - 127) as i8).collect();
    let q = || Op::QuantizeLinear(QuantizeLinear::default());
    let dq = || Op::DequantizeLinear(DequantizeLinear::default());
    let attributes = Conv { kernel_shape: Some(vec![3, 3]), pads: Some(vec![1, 1, 1, 1]), ..Conv::default() };
    Graph {
        opset: 13,
        inputs: vec![float_value("x", &[1, 8, 8, 8])],
        initializers: vec![
            scalar("x_scale", 0.5),
            zero("zero"),
            initializer("w", tensor(&[8, 8, 3, 3], TensorData::Int8(weights))),
            scalar("w_scale", 0.25),
            scalar("y_scale", 16.0),
        ],
        nodes: vec![
            node("quantize_x", q(), &["x", "x_scale", "zero"], "x_q"),
            node("dequantize_x", dq(), &["x_q", "x_scale", "zero"], "x_dq"),
            node("dequantize_w", dq(), &["w", "w_scale", "zero"], "w_dq"),
            node("conv", Op::Conv(attributes), &["x_dq", "w_dq"], "c"),
            node("quantize_y", q(), &["c", "y_scale", "zero"], "y_q"),
            node("dequantize_y", dq(), &["y_q", "y_scale", "zero"], "y"),
        ],
        outputs: vec![float_value("y", &[1, 8, 8, 8])],
    }
}

/// A convolution whose kernel has more channels than its input.
pub fn conv_with_wrong_channels() -> Graph {
    let mut graph = conv(Some(1));
    graph.initializers[0].tensor = floats(&[1, 2, 3, 3], &[1.0; 18]);
    graph
}

fn one_node(op: Op, input: Vec<Dim>, weights: Tensor) -> Graph {
    Graph {
        opset: 13,
        inputs: vec![ValueInfo { name: "x".to_owned(), dtype: DataType::Float, shape: Some(input) }],
        initializers: vec![initializer("w", weights)],
        nodes: vec![node("node", op, &["x", "w"], "y")],
        outputs: vec![ValueInfo { name: "y".to_owned(), dtype: DataType::Float, shape: None }],
    }
}

fn node(name: &str, op: Op, inputs: &[&str], output: &str) -> Node {
    let inputs = inputs.iter().map(|&input| input.to_owned()).collect();
    Node { name: name.to_owned(), op, inputs, outputs: vec![output.to_owned()] }
}

fn initializer(name: &str, tensor: Tensor) -> Initializer {
    Initializer { name: name.to_owned(), tensor }
}

fn float_value(name: &str, shape: &[usize]) -> ValueInfo {
    let shape = Some(shape.iter().copied().map(Dim::Fixed).collect());
    ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape }
}

fn floats(shape: &[usize], values: &[f32]) -> Tensor {
    tensor(shape, TensorData::Float(values.to_vec()))
}

fn tensor(shape: &[usize], data: TensorData) -> Tensor {
    Tensor::new(shape.to_vec(), data).expect("as many elements as the shape says")
}
