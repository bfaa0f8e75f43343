//! The precision that real libraries chose, as they tell it on a machine without a GPU.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;
mod installed;

use common::{Quantized, case, fixed, floats, initializer, node, quantized, value};
use installed::opened;
use twinfer_backend::Backend;
use twinfer_case::{Case, ChosenPrecision, LayerInfo, Outcome, PrecisionSource, Task};
use twinfer_libraries::Store;
use twinfer_onnx::DataType::{Float, Int8, Uint8};
use twinfer_onnx::{
    AveragePool, Concat, DequantizeLinear, Graph, LeakyRelu, MaxPool, Op, QuantizeLinear, Tensor, TensorData,
    Transpose,
};
use twinfer_prerequisites::skip;

const CONVOLUTION: Quantized =
    Quantized { is_transposed: false, channels: (8, 8), group: 1, is_per_channel: true };
const DEPTHWISE: Quantized = Quantized { group: 8, ..CONVOLUTION };
const DECONVOLUTION: Quantized = Quantized { is_transposed: true, ..CONVOLUTION };

fn chosen(backend: &mut dyn Backend, form: Quantized) -> ChosenPrecision {
    let observation = backend.run(&Task::of(&quantized(form)).unwrap(), &mut |_| {});
    assert_eq!(observation.outcome, Outcome::Ok);
    assert_eq!(observation.log, [], "what is asked of a library for this leaves no trace in the log");
    observation.precision.unwrap()
}

/// An operator of this many operands between quantizers, and the extents of its result.
fn between_quantizers(op: Op, operands: usize, shape: &[usize]) -> Case {
    let scalar = |data| Tensor { shape: Vec::new(), data };
    let quantize = || Op::QuantizeLinear(QuantizeLinear::default());
    let dequantize = || Op::DequantizeLinear(DequantizeLinear::default());
    let names: Vec<String> = (0..operands).map(|index| format!("x{index}")).collect();
    let (mut nodes, mut data) = (Vec::new(), Vec::new());
    for name in &names {
        let [quantized, dequantized] = ["q", "d"].map(|suffix| format!("{name}{suffix}"));
        nodes.push(node(&quantized, quantize(), &[name, "scale", "zero"], &quantized));
        nodes.push(node(&dequantized, dequantize(), &[&quantized, "scale", "zero"], &dequantized));
        data.push(dequantized);
    }
    nodes.extend([
        node("op", op, &data.iter().map(String::as_str).collect::<Vec<_>>(), "o"),
        node("q_y", quantize(), &["o", "scale", "zero"], "oq"),
        node("dq_y", dequantize(), &["oq", "scale", "zero"], "y"),
    ]);
    let graph = Graph {
        opset: 17,
        inputs: names.iter().map(|name| value(name, &fixed(&[1, 8, 8, 8]))).collect(),
        initializers: vec![
            initializer("scale", scalar(TensorData::Float(vec![0.5]))),
            initializer("zero", scalar(TensorData::Int8(vec![0]))),
        ],
        nodes,
        outputs: vec![value("y", &fixed(shape))],
    };
    case(graph, vec![(0..operands).map(|seed| floats(&[1, 8, 8, 8], seed)).collect()])
}

fn max_pool() -> Case {
    let pool = MaxPool { kernel_shape: vec![2, 2], strides: Some(vec![2, 2]), ..MaxPool::default() };
    between_quantizers(Op::MaxPool(pool), 1, &[1, 8, 4, 4])
}

/// The types that the layers of the operator read, once it is seen that the backend promises integers.
fn promised_operands(backend: &mut dyn Backend, case: &Case) -> Vec<twinfer_onnx::DataType> {
    let op = case.graph.nodes.iter().find(|node| node.name == "op").unwrap();
    let description = backend.describe();
    assert!(description.quantization_promise(&case.graph, op).is_some(), "{}", case.graph);
    let observation = backend.run(&Task::of(case).unwrap(), &mut |_| {});
    assert_eq!(observation.outcome, Outcome::Ok);
    let layers = observation.precision.unwrap().layers.into_iter();
    let covering = layers.filter(|layer| layer.nodes.iter().any(|node| node == "op"));
    covering.flat_map(|layer| layer.inputs).collect()
}

/// The layer that computes the convolution.
fn window(precision: &ChosenPrecision) -> &LayerInfo {
    let covers = |layer: &&LayerInfo| layer.nodes.iter().any(|node| node == "conv");
    precision.layers.iter().filter(covers).find(|layer| layer.weights.is_some()).unwrap()
}

/// One test, since a process has one logger for TensorRT, which tells the backend that was opened last.
#[test]
fn tensorrt_rtx_tells_from_its_build_log_what_runs_on_int8() {
    let installed = Store::open().and_then(|store| store.find("tensorrt-rtx"));
    let Ok(installed) = installed.map_err(|error| skip("tensorrt-rtx", error)) else { return };
    for variant in ["trt-rtx", "trt-api"] {
        let variant = format!("{variant},lib={}", installed.directory.display());
        let Some(mut backend) = opened(&variant) else { return };
        tells_what_runs_on_int8(backend.as_mut());
    }
}

fn tells_what_runs_on_int8(backend: &mut dyn Backend) {
    for form in [CONVOLUTION, DEPTHWISE] {
        let precision = chosen(backend, form);
        assert_eq!(precision.source, PrecisionSource::BuildLog);
        let layer = window(&precision);
        assert_eq!((&layer.inputs[..], layer.weights), (&[Int8][..], Some(Int8)));
        assert!(layer.tactic.is_some());
    }
    let precision = chosen(backend, DECONVOLUTION);
    let layer = window(&precision);
    assert_eq!((&layer.inputs[..], layer.weights), (&[Float, Float][..], Some(Float)));
    assert_eq!(promised_operands(backend, &max_pool()), [Int8]);
}

#[test]
fn onnx_runtime_runs_what_it_promises_on_integers() {
    let Some(mut backend) = opened("ort:cpu") else { return };
    let all = [1, 8, 8, 8];
    let average =
        AveragePool { kernel_shape: vec![2, 2], strides: Some(vec![2, 2]), ..AveragePool::default() };
    for (op, operands, shape) in [
        (Op::AveragePool(average), 1, [1, 8, 4, 4]),
        (Op::GlobalAveragePool, 1, [1, 8, 1, 1]),
        (Op::LeakyRelu(LeakyRelu::default()), 1, all),
        (Op::Sigmoid, 1, all),
        (Op::Add, 2, all),
        (Op::Mul, 2, all),
        (Op::Concat(Concat { axis: 1 }), 2, [1, 16, 8, 8]),
        (Op::Transpose(Transpose { perm: Some(vec![0, 2, 3, 1]) }), 1, all),
    ] {
        let case = between_quantizers(op, operands, &shape);
        assert_eq!(promised_operands(backend.as_mut(), &case), vec![Uint8; operands], "{}", case.graph);
    }
    assert_eq!(promised_operands(backend.as_mut(), &max_pool()), [Uint8]);
}

#[test]
fn onnx_runtime_tells_from_its_optimized_graph_what_it_fused() {
    let Some(mut backend) = opened("ort:cpu") else { return };
    for form in [CONVOLUTION, DEPTHWISE] {
        let precision = chosen(backend.as_mut(), form);
        assert_eq!(precision.source, PrecisionSource::OptimizedGraph);
        let layer = window(&precision);
        assert_eq!(layer.operator, "QLinearConv");
        // it changes int8 activations to uint8, and their zero points with them
        assert_eq!((&layer.inputs[..], layer.weights), (&[Uint8][..], Some(Int8)));
    }
    let precision = chosen(backend.as_mut(), DECONVOLUTION);
    let layer = window(&precision);
    assert_eq!((layer.operator.as_str(), layer.weights), ("ConvTranspose", Some(Float)));
}
