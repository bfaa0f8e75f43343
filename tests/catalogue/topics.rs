//! The topics that twinfer was written for, each with the shapes around it.

use twinfer_case::{Case, Kind};
use twinfer_onnx::ConvTranspose;

use crate::{
    plain::Plain,
    quantized::{Bias, Quantized},
    record::{Record, Scope},
    records::{
        at,
        tensorrt_deconvolution::output_padding_3d,
        tensorrt_quantized::{depthwise, depthwise_into_floats, residual_block},
        torch_tensorrt::{ones_1d, output_deconvolution, output_padding_beyond_pads},
    },
};

/// Every topic.
pub fn all() -> impl Iterator<Item = &'static Record> {
    [QUANTIZED, OUTPUT_PADDING].into_iter().flatten()
}

const OUTPUT_DECONVOLUTION: &str = "https://github.com/pytorch/TensorRT/issues/2723";
const DEPTHWISE: &str = "https://github.com/NVIDIA/TensorRT/issues/4060";
const PRE_POST_PADDING: &str = "https://github.com/pytorch/TensorRT/issues/3344";
const REJECTED_OUTPUT_PADDING: &str = "https://github.com/pytorch/TensorRT/issues/3352";
const PADDING_3D: &str = "https://github.com/NVIDIA/TensorRT/issues/2168";

const QUANTIZED: &[Record] = &[
    Record {
        id: "output-deconvolution-64-to-10-scales-by-input-channel",
        title: "The quantized deconvolution that ends a network, its scales along the input channels",
        upstream: OUTPUT_DECONVOLUTION,
        reported_in: "Torch-TensorRT up to 2.3 with TensorRT 8.6",
        symptom: Kind::BuildFailure,
        expects: "Ten channels, each input channel's weights by that channel's scale.",
        caveat: Some("As the exporter wrote it. Golden and ONNX read axis 0 as the input channels."),
        scope: Scope::Case { build: output_deconvolution, output: Some(&[1, 10, 4, 4]) },
    },
    Record {
        id: "output-deconvolution-64-to-10-scales-by-output-channel",
        title: "The quantized deconvolution that ends a network, its scales along the output channels",
        upstream: OUTPUT_DECONVOLUTION,
        reported_in: "Torch-TensorRT up to 2.3 with TensorRT 8.6",
        symptom: Kind::BuildFailure,
        expects: "Ten channels, each by its own scale.",
        caveat: None,
        scope: Scope::Case { build: scales_by_output_channel, output: Some(&[1, 10, 4, 4]) },
    },
    Record {
        id: "residual-block-operation-not-supported",
        title: "Building a quantized residual block logs that an operation is not supported",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/3980",
        reported_in: "TensorRT 10",
        symptom: Kind::ErrorLogged,
        expects: "An engine with the values of the graph, and no error in the log.",
        caveat: Some(
            "The message comes from freeing memory on a GPU without memory pools. A GPU that has them, as the H200 has, cannot show it: there an empty log is all that this case can see.",
        ),
        scope: Scope::Case { build: residual_block, output: Some(&[1, 16, 8, 8]) },
    },
    Record {
        id: "depthwise-qdq-4-channels",
        title: "A depthwise quantized convolution of four channels",
        upstream: DEPTHWISE,
        reported_in: "TensorRT 8.6 does not build it, 10.2 falls back to 32-bit floats",
        symptom: Kind::PrecisionFallback,
        expects: "The values of the graph: the weights as QuantizeLinear rounds them.",
        caveat: None,
        scope: Scope::Case { build: || depthwise(4), output: Some(&[1, 4, 8, 8]) },
    },
    Record {
        id: "depthwise-qdq-6-channels",
        title: "A depthwise quantized convolution of six channels",
        upstream: DEPTHWISE,
        reported_in: "TensorRT 8.6 does not build it, 10.2 falls back to 32-bit floats",
        symptom: Kind::PrecisionFallback,
        expects: "The values of the graph: the weights as QuantizeLinear rounds them.",
        caveat: Some("Channels that are not a multiple of four."),
        scope: Scope::Case { build: || depthwise(6), output: Some(&[1, 6, 8, 8]) },
    },
    Record {
        id: "depthwise-qdq-32-channels",
        title: "A depthwise quantized convolution of 32 channels",
        upstream: DEPTHWISE,
        reported_in: "TensorRT 8.6 does not build it, 10.2 falls back to 32-bit floats",
        symptom: Kind::PrecisionFallback,
        expects: "The values of the graph: the weights as QuantizeLinear rounds them.",
        caveat: None,
        scope: Scope::Case { build: || depthwise(32), output: Some(&[1, 32, 8, 8]) },
    },
    into_floats("depthwise-qdq-6-channels-float-output", || depthwise_into_floats(6), &[1, 6, 8, 8]),
    into_floats("depthwise-qdq-8-channels-float-output", || depthwise_into_floats(8), &[1, 8, 8, 8]),
    into_floats("depthwise-qdq-32-channels-float-output", || depthwise_into_floats(32), &[1, 32, 8, 8]),
];

const OUTPUT_PADDING: &[Record] = &[
    Record {
        id: "output-padding-rejected-by-converter",
        title: "A deconvolution with output_padding and a bias, rejected by a converter",
        upstream: REJECTED_OUTPUT_PADDING,
        reported_in: "Torch-TensorRT 2.5 and 2.6",
        symptom: Kind::RejectsValid,
        expects: "Twelve positions per axis; the last of each holds the bias alone.",
        caveat: Some(
            "`trt-api` lowers it as a converter has to: a strip is appended, and the bias reaches it.",
        ),
        scope: Scope::Case { build: output_padding_beyond_pads, output: Some(&[1, 2, 12, 12]) },
    },
    pre_post(
        "output-padding-1d-pad-0-without",
        "One dimension, no padding of either kind",
        "[1, 1, 2, 2, 3, 3] for [1, 2, 3] under weights of one.",
        Scope::Case { build: || ones_1d(0, 0), output: Some(&[1, 1, 6]) },
    ),
    pre_post(
        "output-padding-1d-pad-0-beyond",
        "One dimension, output_padding beyond the pads",
        "[1, 1, 2, 2, 3, 3, 0] for [1, 2, 3] under weights of one.",
        Scope::Case { build: || ones_1d(0, 1), output: Some(&[1, 1, 7]) },
    ),
    pre_post(
        "output-padding-1d-pad-1-without",
        "One dimension, pads alone",
        "[1, 2, 2, 3] for [1, 2, 3] under weights of one.",
        Scope::Case { build: || ones_1d(1, 0), output: Some(&[1, 1, 4]) },
    ),
    pre_post(
        "output-padding-1d-pad-1-within",
        "One dimension, output_padding taken from the pads",
        "[1, 2, 2, 3, 3] for [1, 2, 3] under weights of one.",
        Scope::Case { build: || ones_1d(1, 1), output: Some(&[1, 1, 5]) },
    ),
    pre_post(
        "output-padding-2d-within",
        "Two dimensions, output_padding taken from the pads",
        "Twice the input's extents, the bias everywhere.",
        Scope::Case { build: || padded_2d(1), output: Some(&[1, 2, 8, 10]) },
    ),
    pre_post(
        "output-padding-2d-beyond",
        "Two dimensions, output_padding beyond the pads",
        "A row and a column that hold the bias alone.",
        Scope::Case { build: || padded_2d(0), output: Some(&[1, 2, 10, 12]) },
    ),
    Record {
        id: "output-padding-3d-within",
        title: "Three dimensions, output_padding taken from the pads",
        upstream: PADDING_3D,
        reported_in: "TensorRT 8.4, layer interface",
        symptom: Kind::WrongShape,
        expects: "Twice the input's extents.",
        caveat: None,
        scope: Scope::Case { build: output_padding_3d, output: Some(&[1, 2, 6, 8, 10]) },
    },
    Record {
        id: "output-padding-3d-beyond",
        title: "Three dimensions, output_padding beyond the pads",
        upstream: PADDING_3D,
        reported_in: "TensorRT 8.4, layer interface",
        symptom: Kind::WrongShape,
        expects: "A slice behind each axis that holds the bias alone.",
        caveat: None,
        scope: Scope::Case { build: beyond_3d, output: Some(&[1, 2, 6, 8, 6]) },
    },
];

/// A topic of the issue about pre- and post-padding.
const fn into_floats(id: &'static str, build: fn() -> Case, output: &'static [usize]) -> Record {
    Record {
        id,
        title: "A depthwise quantized convolution whose output is not quantized",
        upstream: DEPTHWISE,
        reported_in: "TensorRT 8.6 does not build it, 10.2 falls back to 32-bit floats",
        symptom: Kind::PrecisionFallback,
        expects: "The values of the graph: the weights as QuantizeLinear rounds them.",
        caveat: None,
        scope: Scope::Case { build, output: Some(output) },
    }
}

const fn pre_post(id: &'static str, title: &'static str, expects: &'static str, scope: Scope) -> Record {
    Record {
        id,
        title,
        upstream: PRE_POST_PADDING,
        reported_in: "Torch-TensorRT up to 2.6",
        symptom: Kind::RejectsValid,
        expects,
        caveat: None,
        scope,
    }
}

fn scales_by_output_channel() -> Case {
    Quantized { axis: 1, bias: Bias::Float, ..Quantized::plain(&[1, 64, 4, 4], &[64, 10, 1, 1]) }
        .deconv(ConvTranspose { strides: at(&[1, 1]), ..ConvTranspose::default() })
}

/// `output_padding` of one behind pads of `pad`.
fn padded_2d(pad: i64) -> Case {
    Plain { bias: Bias::Float, ..Plain::of(&[&[1, 3, 4, 5]], &[3, 2, 3, 3]) }.deconv(ConvTranspose {
        strides: at(&[2, 2]),
        pads: at(&[pad; 4]),
        output_padding: at(&[1, 1]),
        ..ConvTranspose::default()
    })
}

fn beyond_3d() -> Case {
    Plain { bias: Bias::Float, ..Plain::of(&[&[1, 2, 2, 3, 2]], &[2, 2, 3, 3, 3]) }.deconv(ConvTranspose {
        strides: at(&[2, 2, 2]),
        pads: at(&[0; 6]),
        output_padding: at(&[1, 1, 1]),
        ..ConvTranspose::default()
    })
}
