//! Torch-TensorRT, and TensorRT-RTX under it.

use twinfer_case::{Case, Kind};
use twinfer_onnx::{Conv, ConvTranspose, DataType, Tensor};

use super::at;
use crate::{
    plain::Plain,
    quantized::{Bias, Quantized},
    record::{Record, Scope},
    sketch::{Sketch, fixed, integers},
};

pub const RECORDS: &[Record] = &[
    Record {
        id: "torchtrt-2723-qdq-deconv-cout",
        title: "The converter takes the output channels of a quantized deconvolution from the first extent of its weights",
        upstream: "https://github.com/pytorch/TensorRT/issues/2723",
        reported_in: "Torch-TensorRT up to 2.3 with TensorRT 8.6",
        symptom: Kind::BuildFailure,
        expects: "Ten output channels: the second extent of the weights times the groups.",
        caveat: Some(
            "The 64 scales lie along the axis of the input channels, as the exporter wrote them; ONNX allows it.",
        ),
        scope: Scope::Case { build: output_deconvolution, output: Some(&[1, 10, 4, 4]) },
    },
    Record {
        id: "torchtrt-2507-deconv-cout",
        title: "The converter takes the input channels of a deconvolution from the second extent of its weights",
        upstream: "https://github.com/pytorch/TensorRT/issues/2507",
        reported_in: "Torch-TensorRT 2.2 before its release, with TensorRT 8.6",
        symptom: Kind::BuildFailure,
        expects: "Four output channels: the second extent of the weights.",
        caveat: Some("The reported layer goes from 128 channels to 64; this one from 8 to 4."),
        scope: Scope::Case { build: upsampling_deconvolution, output: Some(&[1, 4, 8, 8]) },
    },
    Record {
        id: "torchtrt-3352-deconv-output-padding",
        title: "A deconvolution with output_padding is rejected by the converter",
        upstream: "https://github.com/pytorch/TensorRT/issues/3352",
        reported_in: "Torch-TensorRT 2.5 and 2.6",
        symptom: Kind::RejectsValid,
        expects: "Twelve positions per axis; the last of each holds the bias alone.",
        caveat: None,
        scope: Scope::Case { build: output_padding_beyond_pads, output: Some(&[1, 2, 12, 12]) },
    },
    Record {
        id: "torchtrt-3344-pre-post-padding-1d",
        title: "output_padding expressed by the pre- and post-padding of a TensorRT layer, in one dimension",
        upstream: "https://github.com/pytorch/TensorRT/issues/3344",
        reported_in: "Torch-TensorRT up to 2.6",
        symptom: Kind::RejectsValid,
        expects: "[1, 2, 2, 3, 3] for [1, 2, 3] under weights of one.",
        caveat: None,
        scope: Scope::Case { build: pre_post_padding, output: Some(&[1, 1, 5]) },
    },
    Record {
        id: "torchtrt-623-deconv-outpad-ts",
        title: "The TorchScript path drops output_padding",
        upstream: "https://github.com/pytorch/TensorRT/issues/623",
        reported_in: "Torch-TensorRT up to 1.1",
        symptom: Kind::BuildFailure,
        expects: "Twice the input's extents.",
        caveat: None,
        scope: Scope::Case { build: output_padding_within_pads, output: Some(&[1, 2, 16, 32]) },
    },
    Record {
        id: "torchtrt-1445-conv3d-k1-groups",
        title: "A grouped 3D convolution with a kernel of one reads out of bounds",
        upstream: "https://github.com/pytorch/TensorRT/issues/1445",
        reported_in: "TensorRT 8.5.1.7 under Torch-TensorRT",
        symptom: Kind::Crash,
        expects: "An ordinary result.",
        caveat: None,
        scope: Scope::Case { build: grouped_pointwise_3d, output: Some(&[1, 6, 6, 6, 6]) },
    },
    Record {
        id: "torchtrt-3178-tensor-weight-pad",
        title: "Where weights are a tensor, the padding at the end is set back to zero",
        upstream: "https://github.com/pytorch/TensorRT/issues/3178",
        reported_in: "Torch-TensorRT 2.4 and 2.5 with TensorRT 10",
        symptom: Kind::WrongShape,
        expects: "The extents of the input.",
        caveat: None,
        scope: Scope::Case { build: fed_weights, output: Some(&[2, 8, 11, 11]) },
    },
    Record {
        id: "rtx-4188-grouped-deconv3d-crash",
        title: "A grouped 3D deconvolution crashes the process",
        upstream: "https://github.com/pytorch/TensorRT/pull/4188",
        reported_in: "TensorRT-RTX 1.4, fixed in 1.5",
        symptom: Kind::Crash,
        expects: "An ordinary result.",
        caveat: None,
        scope: Scope::Case { build: grouped_deconvolution_3d, output: Some(&[1, 4, 6, 6, 6]) },
    },
    Record {
        id: "rtx-4178-bf16-depthwise",
        title: "Depthwise convolutions in bfloat16 are rejected",
        upstream: "https://github.com/pytorch/TensorRT/pull/4178",
        reported_in: "TensorRT-RTX 1.4, fixed in 1.5",
        symptom: Kind::RejectsValid,
        expects: "An ordinary result in bfloat16.",
        caveat: Some("ONNX Runtime's CUDA provider has no kernel for it, so golden alone decides."),
        scope: Scope::Case { build: depthwise_bfloat16, output: Some(&[1, 8, 6, 6]) },
    },
];

/// The deconvolution that ends a quantized network: 64 channels in, 10 out, a kernel of one.
pub fn output_deconvolution() -> Case {
    Quantized { bias: Bias::Float, ..Quantized::plain(&[1, 64, 4, 4], &[64, 10, 1, 1]) }
        .deconv(ConvTranspose { strides: at(&[1, 1]), ..ConvTranspose::default() })
}

/// The upsampling step of a U-Net, which halves the channels and doubles the extents.
fn upsampling_deconvolution() -> Case {
    Plain { bias: Bias::Float, ..Plain::of(&[&[1, 8, 4, 4]], &[8, 4, 2, 2]) }
        .deconv(ConvTranspose { strides: at(&[2, 2]), ..ConvTranspose::default() })
}

/// More output padding than there is end padding to take it from, and a bias that must reach it.
pub fn output_padding_beyond_pads() -> Case {
    Plain { bias: Bias::Float, ..Plain::of(&[&[1, 4, 5, 5]], &[4, 2, 3, 3]) }.deconv(ConvTranspose {
        strides: at(&[2, 2]),
        pads: at(&[0, 0, 0, 0]),
        output_padding: at(&[1, 1]),
        ..ConvTranspose::default()
    })
}

fn pre_post_padding() -> Case {
    ones_1d(1, 1)
}

/// The input [1, 2, 3] under a kernel of two ones, two apart.
pub fn ones_1d(pad: i64, output_padding: i64) -> Case {
    let mut sketch = Sketch::new(17);
    let x = sketch.floats(&[1, 1, 3]);
    let weights = sketch.constant(crate::sketch::floats(&[1, 1, 2], [1.0, 1.0]));
    let op = ConvTranspose {
        strides: at(&[2]),
        pads: at(&[pad, pad]),
        output_padding: at(&[output_padding]),
        ..ConvTranspose::default()
    };
    let y = sketch.deconv(&[2], op, &[&x, &weights]);
    sketch.case(&[&y], vec![vec![crate::sketch::floats(&[1, 1, 3], [1.0, 2.0, 3.0])]])
}

fn output_padding_within_pads() -> Case {
    Plain::of(&[&[1, 2, 8, 16]], &[2, 2, 3, 3]).deconv(ConvTranspose {
        strides: at(&[2, 2]),
        pads: at(&[1, 1, 1, 1]),
        output_padding: at(&[1, 1]),
        ..ConvTranspose::default()
    })
}

fn grouped_pointwise_3d() -> Case {
    Plain { bias: Bias::Float, ..Plain::of(&[&[1, 3, 6, 6, 6]], &[6, 1, 1, 1, 1]) }
        .conv(Conv { group: Some(3), ..Conv::default() })
}

fn fed_weights() -> Case {
    let mut sketch = Sketch::new(17);
    let x = sketch.floats(&[2, 8, 11, 11]);
    let weights = sketch.floats(&[8, 1, 3, 3]);
    let op = Conv { group: Some(8), pads: at(&[1, 1, 1, 1]), ..Conv::default() };
    let y = sketch.conv(&[3, 3], op, &[&x, &weights]);
    sketch.case(&[&y], vec![vec![integers(&[2, 8, 11, 11], 0), integers(&[8, 1, 3, 3], 1)]])
}

fn grouped_deconvolution_3d() -> Case {
    Plain::of(&[&[1, 4, 3, 3, 3]], &[4, 2, 2, 2, 2]).deconv(ConvTranspose {
        group: Some(2),
        strides: at(&[2, 2, 2]),
        ..ConvTranspose::default()
    })
}

fn depthwise_bfloat16() -> Case {
    let bfloat16 = |shape: &[usize], seed| {
        let integers = integers(shape, seed);
        Tensor::from_f64(DataType::Bfloat16, shape.to_vec(), &integers.to_f64()).expect("the same extents")
    };
    let mut sketch = Sketch::new(22);
    let x = sketch.input(DataType::Bfloat16, &fixed(&[1, 8, 6, 6]));
    let weights = sketch.constant(bfloat16(&[8, 1, 3, 3], 1));
    let op = Conv { group: Some(8), pads: at(&[1, 1, 1, 1]), ..Conv::default() };
    let y = sketch.conv(&[3, 3], op, &[&x, &weights]);
    sketch.case(&[&y], vec![vec![bfloat16(&[1, 8, 6, 6], 0)]])
}
