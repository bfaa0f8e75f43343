//! Quantized convolutions and deconvolutions on TensorRT.

use twinfer_case::{Case, Kind};
use twinfer_onnx::{Conv, ConvTranspose, DataType};

use super::at;
use crate::{
    quantized::{Activation, Bias, OUTPUT_SCALE, Quantized, Stored, activations},
    record::{Record, Scope},
    sketch::{Detour, Sketch, Value, fixed},
};

pub const DECONVOLUTIONS: &[Record] = &[
    Record {
        id: "trt-1694-int8-deconv-axis1-wrong",
        title: "A deconvolution whose weight scales lie along the output channels gives wrong values",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/1694",
        reported_in: "TensorRT 8.2",
        symptom: Kind::WrongValues,
        expects: "A scale for each output channel.",
        caveat: None,
        scope: Scope::Case { build: scales_along_outputs, output: Some(&[1, 8, 8, 8]) },
    },
    Record {
        id: "trt-1699-deconv-bn-rewrite",
        title: "Batch normalization is folded into a quantized deconvolution along the wrong channels",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/1699",
        reported_in: "TensorRT 8.2.0.6, fixed in 8.4",
        symptom: Kind::WrongValues,
        expects: "A factor for each output channel.",
        caveat: None,
        scope: Scope::Case { build: batch_normalized, output: Some(&[1, 8, 10, 10]) },
    },
    Record {
        id: "trt-1934-grouped-qdq-deconv",
        title: "A grouped quantized deconvolution requires four channels per group",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/1934",
        reported_in: "TensorRT 8.0.3 to 8.4",
        symptom: Kind::BuildFailure,
        expects: "Each group by itself.",
        caveat: None,
        scope: Scope::Case { build: || depthwise_up(&[1, 8, 4, 4]), output: Some(&[1, 8, 8, 8]) },
    },
    Record {
        id: "trt-2280-qdq-deconv-no-tactic",
        title: "No kernel is found for a depthwise quantized deconvolution",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/2280",
        reported_in: "TensorRT 8.2 and 8.4, fixed in 8.5",
        symptom: Kind::BuildFailure,
        expects: "An ordinary result.",
        caveat: None,
        scope: Scope::Case { build: || depthwise_up(&[1, 16, 8, 8]), output: Some(&[1, 16, 16, 16]) },
    },
    Record {
        id: "trt-1556-qdq-channels-mod4",
        title: "Quantized deconvolutions whose channels are not a multiple of four do not build",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/1556",
        reported_in: "TensorRT 8.2 to 8.4, fixed in 8.5",
        symptom: Kind::BuildFailure,
        expects: "An ordinary result for any number of channels.",
        caveat: None,
        scope: Scope::Case { build: six_channels, output: Some(&[1, 6, 16, 16]) },
    },
    Record {
        id: "trt-1840-deconv1d-int8-bias",
        title: "The bias corrupts a quantized deconvolution in one dimension",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/1840",
        reported_in: "TensorRT 8.2.1.8, fixed in 8.4",
        symptom: Kind::WrongValues,
        expects: "The bias once in each element, as it is.",
        caveat: None,
        scope: Scope::Case { build: biased_1d, output: Some(&[1, 4, 16]) },
    },
    Record {
        id: "trt-1961-int8-deconv-output-error",
        title: "A quantized deconvolution differs strongly from ONNX Runtime",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/1961",
        reported_in: "TensorRT 8.2 to 8.4",
        symptom: Kind::WrongValues,
        expects: "The values of the graph.",
        caveat: Some("The map is smaller than the reported one."),
        scope: Scope::Case { build: sixteen_channels, output: Some(&[1, 16, 8, 12]) },
    },
    Record {
        id: "trt-2597-deconv-q-not-merged",
        title: "A quantizer behind Concat reaches the convolutions before it but not the deconvolution",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/2597",
        reported_in: "TensorRT 8.5",
        symptom: Kind::PrecisionFallback,
        expects: "The same values, every branch in int8.",
        caveat: None,
        scope: Scope::Case { build: concatenated, output: Some(&[1, 24, 8, 8]) },
    },
    Record {
        id: "trt-4668-deconv3d-explicit-fp16",
        title: "A 3D deconvolution runs in int8 by calibration but not by Q/DQ",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/4668",
        reported_in: "TensorRT 10.13",
        symptom: Kind::PrecisionFallback,
        expects: "The values of the graph, in int8 where it is offered.",
        caveat: None,
        scope: Scope::Case { build: deconvolution_3d, output: Some(&[1, 8, 8, 8, 8]) },
    },
    Record {
        id: "trt-relnotes-3.0.4-int8-deconv-bias",
        title: "The bias of a quantized deconvolution, by a release note",
        upstream: "https://docs.nvidia.com/deeplearning/tensorrt/archives/tensorrt-825/release-notes/tensorrt-3.html",
        reported_in: "TensorRT 2.1 to 3.0.2, fixed in 3.0.4",
        symptom: Kind::WrongValues,
        expects: "The bias rescaled once.",
        caveat: None,
        scope: Scope::Case { build: biased_2d, output: Some(&[1, 8, 8, 8]) },
    },
];

pub const CONVOLUTIONS: &[Record] = &[
    Record {
        id: "trt-3980-residual-bn-qdq-dealloc",
        title: "Building a quantized residual block logs that an operation is not supported",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/3980",
        reported_in: "TensorRT 10",
        symptom: Kind::ErrorLogged,
        expects: "An engine, and nothing in the log.",
        caveat: Some(
            "The message comes from freeing memory on a GPU without memory pools; on any other the log stays empty.",
        ),
        scope: Scope::Case { build: residual_block, output: Some(&[1, 16, 8, 8]) },
    },
    Record {
        id: "trt-4060-depthwise-qdq-no-impl",
        title: "A depthwise quantized convolution has no kernel, or silently runs in 32-bit floats",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/4060",
        reported_in: "TensorRT 8.6 does not build it, 10.2 falls back",
        symptom: Kind::PrecisionFallback,
        expects: "The values of the graph, whatever it runs in.",
        caveat: None,
        scope: Scope::Case { build: || depthwise(4), output: Some(&[1, 4, 8, 8]) },
    },
    Record {
        id: "trt-3579-qdq-conv-add-tiny",
        title: "No kernel is found for a quantized convolution and a residual in floats on a small map",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/3579",
        reported_in: "TensorRT 8.6",
        symptom: Kind::BuildFailure,
        expects: "An ordinary result.",
        caveat: None,
        scope: Scope::Case { build: float_residual, output: Some(&[1, 96, 4, 4]) },
    },
    Record {
        id: "trt-3638-qdq-conv-cin4-t4",
        title: "No kernel is found for a quantized convolution of four channels with a float output",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/3638",
        reported_in: "TensorRT 8.6.1 on a T4",
        symptom: Kind::BuildFailure,
        expects: "An ordinary result.",
        caveat: Some("Which kernels there are depends on the GPU."),
        scope: Scope::Case { build: four_channels, output: Some(&[1, 32, 8, 6]) },
    },
    Record {
        id: "trt-2664-pointwise-outscales",
        title: "One value quantized with several scales: whether it builds depends on the scales",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/2664",
        reported_in: "TensorRT 8.5",
        symptom: Kind::BuildFailure,
        expects: "An engine whatever the scales are.",
        caveat: None,
        scope: Scope::Case { build: several_scales, output: Some(&[1, 8, 8, 8]) },
    },
    Record {
        id: "trt-2719-constweightsfusion-assert",
        title: "Fusing the weights of a quantized convolution with Relu fails an assertion",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/2719",
        reported_in: "TensorRT 8.5",
        symptom: Kind::BuildFailure,
        expects: "An engine.",
        caveat: None,
        scope: Scope::Case { build: activated, output: Some(&[1, 8, 8, 8]) },
    },
    Record {
        id: "trt-1574-add-both-qdq",
        title: "Q/DQ on both inputs of a residual Add fail an assertion",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/1574",
        reported_in: "TensorRT 8.0.1.6",
        symptom: Kind::BuildFailure,
        expects: "An engine with the values of the graph.",
        caveat: None,
        scope: Scope::Case { build: both_quantized, output: Some(&[1, 8, 8, 8]) },
    },
];

pub const ACTIVATION_TYPES: &[Record] = &[
    Record {
        id: "trt-4008-per-channel-activation-maxpool",
        title: "An activation quantized by channel before MaxPool fails an assertion",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/4008",
        reported_in: "TensorRT 8.6",
        symptom: Kind::BuildFailure,
        expects: "The values of the graph, or a rejection by the parser.",
        caveat: Some("TensorRT documents scales by channel for weights only."),
        scope: Scope::Case { build: quantized_by_channel, output: Some(&[1, 8, 4, 4]) },
    },
    Record {
        id: "trt-2774-nonzero-zero-point",
        title: "A zero point other than zero is rejected",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/2774",
        reported_in: "TensorRT, all versions",
        symptom: Kind::RejectsValid,
        expects: "A rejection by the parser, never other values.",
        caveat: Some("TensorRT documents symmetric quantization only."),
        scope: Scope::Case {
            build: || first_convolution(Activation::Uint8 { zero_point: 3 }),
            output: Some(&[1, 8, 8, 8]),
        },
    },
    Record {
        id: "trt-2081-uint8-after-relu",
        title: "uint8 after Relu is treated as int8 and loses half its range",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/2081",
        reported_in: "TensorRT 8.0.3 and later",
        symptom: Kind::WrongValues,
        expects: "Saturation at 255 steps, or a rejection.",
        caveat: Some("TensorRT documents uint8 for DLA only."),
        scope: Scope::Case { build: uint8_after_relu, output: Some(&[1, 8, 8, 8]) },
    },
    Record {
        id: "onnxtrt-886-uint8-check",
        title: "Without a zero point QuantizeLinear gives uint8; the parser assumed int8",
        upstream: "https://github.com/onnx/onnx-tensorrt/pull/886",
        reported_in: "TensorRT before 8.5.2",
        symptom: Kind::WrongValues,
        expects: "Saturation at 0 and at 255 steps, or a rejection.",
        caveat: None,
        scope: Scope::Case {
            build: || first_convolution(Activation::NoZeroPoint),
            output: Some(&[1, 8, 8, 8]),
        },
    },
    Record {
        id: "onnxtrt-850-int32-bias-dq",
        title: "A bias stored as int32 is rejected",
        upstream: "https://github.com/onnx/onnx-tensorrt/issues/850",
        reported_in: "TensorRT 8 to 10",
        symptom: Kind::RejectsValid,
        expects: "The integers times the scale of the data times that of the weights.",
        caveat: None,
        scope: Scope::Case { build: integer_bias, output: Some(&[1, 8, 8, 8]) },
    },
];

fn scales_along_outputs() -> Case {
    Quantized { axis: 1, ..Quantized::plain(&[1, 8, 4, 4], &[8, 8, 2, 2]) }.deconv(twice())
}

/// Stride two along both axes.
fn twice() -> ConvTranspose {
    ConvTranspose { strides: at(&[2, 2]), ..ConvTranspose::default() }
}

/// Pads of one on every side.
fn padded() -> Conv {
    Conv { pads: at(&[1; 4]), ..Conv::default() }
}

fn batch_normalized() -> Case {
    let mut sketch = Sketch::new(13);
    let x = sketch.floats(&[1, 8, 5, 5]);
    let data = sketch.qdq(&x, Activation::Int8);
    let weights = sketch.quantized_weights(&[8, 8, 2, 2], 0, Stored::Float);
    let y = sketch.deconv(&[2, 2], twice(), &[&data, &weights]);
    let normal = sketch.batch_norm(&y, 8, Detour::None);
    let positive = sketch.relu(&normal);
    sketch.case(&[&positive], vec![vec![activations(&[1, 8, 5, 5])]])
}

/// A depthwise deconvolution that doubles the extents.
fn depthwise_up(input: &[usize]) -> Case {
    let channels = input[1];
    Quantized::plain(input, &[channels, 1, 4, 4]).deconv(ConvTranspose {
        group: Some(channels as i64),
        pads: at(&[1; 4]),
        ..twice()
    })
}

fn six_channels() -> Case {
    Quantized::plain(&[1, 6, 8, 8], &[6, 6, 2, 2]).deconv(twice())
}

fn biased_1d() -> Case {
    Quantized { bias: Bias::Float, ..Quantized::plain(&[1, 4, 8], &[4, 4, 4]) }.deconv(ConvTranspose {
        strides: at(&[2]),
        pads: at(&[1, 1]),
        ..ConvTranspose::default()
    })
}

fn sixteen_channels() -> Case {
    Quantized::plain(&[1, 16, 4, 6], &[16, 16, 2, 2]).deconv(twice())
}

fn concatenated() -> Case {
    let mut sketch = Sketch::new(13);
    let (small, large) = (sketch.floats(&[1, 8, 4, 4]), sketch.floats(&[1, 8, 8, 8]));
    let (data, wide) = (sketch.qdq(&small, Activation::Int8), sketch.qdq(&large, Activation::Int8));
    let weights = sketch.quantized_weights(&[8, 8, 2, 2], 0, Stored::Float);
    let up = sketch.deconv(&[2, 2], twice(), &[&data, &weights]);
    let branches = [(); 2].map(|()| {
        let weights = sketch.quantized_weights(&[8, 8, 1, 1], 0, Stored::Float);
        sketch.conv(&[1, 1], Conv::default(), &[&wide, &weights])
    });
    let joined = sketch.concat(1, &[&up, &branches[0], &branches[1]]);
    let y = sketch.qdq_scaled(&joined, Activation::Int8, OUTPUT_SCALE);
    sketch.case(&[&y], vec![vec![activations(&[1, 8, 4, 4]), activations(&[1, 8, 8, 8])]])
}

fn deconvolution_3d() -> Case {
    let mut sketch = Sketch::new(17);
    let x = sketch.floats(&[1, 8, 4, 4, 4]);
    let data = sketch.qdq(&x, Activation::Int8);
    let weights = sketch.quantized_weights(&[8, 8, 2, 2, 2], 0, Stored::Float);
    let op = ConvTranspose { strides: at(&[2, 2, 2]), ..ConvTranspose::default() };
    let y = sketch.deconv(&[2, 2, 2], op, &[&data, &weights]);
    let normal = sketch.batch_norm(&y, 8, Detour::None);
    let positive = sketch.relu(&normal);
    let y = sketch.qdq_scaled(&positive, Activation::Int8, OUTPUT_SCALE);
    sketch.case(&[&y], vec![vec![activations(&[1, 8, 4, 4, 4])]])
}

fn biased_2d() -> Case {
    Quantized { bias: Bias::Float, ..Quantized::plain(&[1, 8, 4, 4], &[8, 8, 2, 2]) }.deconv(twice())
}

/// Two quantized convolutions with batch normalization, a quantized 1×1 one beside them whose normalization takes its
/// parameters through Identity, Q/DQ on the branch that is added, Relu.
pub fn residual_block() -> Case {
    let mut sketch = Sketch::new(13);
    let x = sketch.floats(&[1, 8, 16, 16]);
    let data = sketch.qdq(&x, Activation::Int8);
    let halving = || Conv { strides: at(&[2, 2]), ..Conv::default() };
    let first = convolved(&mut sketch, &data, &[16, 8, 3, 3], Conv { pads: at(&[1; 4]), ..halving() });
    let first = sketch.batch_norm(&first, 16, Detour::None);
    let first = sketch.relu(&first);
    let between = sketch.qdq_scaled(&first, Activation::Int8, OUTPUT_SCALE);
    let second = convolved(&mut sketch, &between, &[16, 16, 3, 3], padded());
    let main = sketch.batch_norm(&second, 16, Detour::None);
    let side = convolved(&mut sketch, &data, &[16, 8, 1, 1], halving());
    let side = sketch.batch_norm(&side, 16, Detour::Identity);
    let side = sketch.qdq_scaled(&side, Activation::Int8, OUTPUT_SCALE);
    let sum = sketch.add(&main, &side);
    let y = sketch.relu(&sum);
    sketch.case(&[&y], vec![vec![activations(&[1, 8, 16, 16])]])
}

/// A convolution with quantized weights.
fn convolved(sketch: &mut Sketch, data: &Value, weights: &[usize], op: Conv) -> Value {
    let kernel = crate::quantized::kernel_of(weights);
    let weights = sketch.quantized_weights(weights, 0, Stored::Float);
    sketch.conv(&kernel, op, &[data, &weights])
}

/// A depthwise convolution between Q/DQ pairs.
pub fn depthwise(channels: usize) -> Case {
    depthwise_into(channels, true)
}

/// A depthwise convolution behind Q/DQ pairs whose output stays as it is.
pub fn depthwise_into_floats(channels: usize) -> Case {
    depthwise_into(channels, false)
}

fn depthwise_into(channels: usize, output_qdq: bool) -> Case {
    Quantized { output_qdq, ..Quantized::plain(&[1, channels, 8, 8], &[channels, 1, 3, 3]) }
        .conv(Conv { group: Some(channels as i64), ..padded() })
}

fn float_residual() -> Case {
    let mut sketch = Sketch::new(13);
    let x = sketch.floats(&[1, 96, 4, 4]);
    let data = sketch.qdq(&x, Activation::Int8);
    let y = convolved(&mut sketch, &data, &[96, 96, 1, 1], Conv::default());
    let sum = sketch.add(&y, &x);
    sketch.case(&[&sum], vec![vec![activations(&[1, 96, 4, 4])]])
}

fn four_channels() -> Case {
    Quantized { opset: 17, ..Quantized::plain(&[1, 4, 8, 6], &[32, 4, 3, 3]) }.conv(padded())
}

fn several_scales() -> Case {
    let mut sketch = Sketch::new(13);
    let x = sketch.floats(&[1, 8, 8, 8]);
    let positive = sketch.relu(&x);
    let branches = [0.125, 0.25].map(|scale| {
        let data = sketch.qdq_scaled(&positive, Activation::Int8, scale);
        convolved(&mut sketch, &data, &[8, 8, 1, 1], Conv::default())
    });
    let sum = sketch.add(&branches[0], &branches[1]);
    let y = sketch.qdq_scaled(&sum, Activation::Int8, OUTPUT_SCALE);
    sketch.case(&[&y], vec![vec![activations(&[1, 8, 8, 8])]])
}

fn activated() -> Case {
    let mut sketch = Sketch::new(13);
    let x = sketch.floats(&[1, 8, 8, 8]);
    let data = sketch.qdq(&x, Activation::Int8);
    let y = convolved(&mut sketch, &data, &[8, 8, 3, 3], padded());
    let positive = sketch.relu(&y);
    let y = sketch.qdq_scaled(&positive, Activation::Int8, OUTPUT_SCALE);
    sketch.case(&[&y], vec![vec![activations(&[1, 8, 8, 8])]])
}

fn both_quantized() -> Case {
    let mut sketch = Sketch::new(13);
    let x = sketch.floats(&[1, 8, 8, 8]);
    let data = sketch.qdq(&x, Activation::Int8);
    let y = convolved(&mut sketch, &data, &[8, 8, 3, 3], padded());
    let positive = sketch.relu(&y);
    let main = sketch.qdq_scaled(&positive, Activation::Int8, OUTPUT_SCALE);
    let side = sketch.qdq_scaled(&x, Activation::Int8, OUTPUT_SCALE / 8.0);
    let sum = sketch.add(&main, &side);
    let y = sketch.relu(&sum);
    sketch.case(&[&y], vec![vec![activations(&[1, 8, 8, 8])]])
}

fn quantized_by_channel() -> Case {
    let mut sketch = Sketch::new(13);
    let x = sketch.floats(&[1, 8, 8, 8]);
    let data = sketch.qdq(&x, Activation::Int8PerChannel { channels: 8 });
    let pooled = sketch.halved(&data);
    let y = convolved(&mut sketch, &pooled, &[8, 8, 3, 3], padded());
    sketch.case(&[&y], vec![vec![activations(&[1, 8, 8, 8])]])
}

fn first_convolution(activation: Activation) -> Case {
    Quantized { activation, ..Quantized::plain(&[1, 3, 8, 8], &[8, 3, 3, 3]) }.conv(padded())
}

fn uint8_after_relu() -> Case {
    let mut sketch = Sketch::new(13);
    let x = sketch.input(DataType::Float, &fixed(&[1, 3, 8, 8]));
    let positive = sketch.relu(&x);
    let data = sketch.qdq(&positive, Activation::Uint8 { zero_point: 0 });
    let y = convolved(&mut sketch, &data, &[8, 3, 3, 3], padded());
    sketch.case(&[&y], vec![vec![activations(&[1, 3, 8, 8])]])
}

fn integer_bias() -> Case {
    Quantized { stored: Stored::Int8, bias: Bias::Int32, ..Quantized::plain(&[1, 3, 8, 8], &[8, 3, 3, 3]) }
        .conv(padded())
}
