//! Deconvolutions in 32-bit floats on TensorRT.

use twinfer_case::{Case, Kind};
use twinfer_onnx::{Conv, ConvTranspose, Dim};

use super::at;
use crate::{
    plain::Plain,
    quantized::Bias,
    record::{Record, Scope},
    sketch::{Sketch, integers, symbol},
};

pub const RECORDS: &[Record] = &[
    Record {
        id: "trt-2168-deconv3d-api-no-output-padding",
        title: "The deconvolution layer has no output_padding, and its pre- and post-padding seemed not to stand in for it in 3D",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/2168",
        reported_in: "TensorRT 8.4, layer interface",
        symptom: Kind::WrongShape,
        expects: "Twice the input's extents: a post-padding of zero where the pads are one.",
        caveat: None,
        scope: Scope::Case { build: output_padding_3d, output: Some(&[1, 2, 6, 8, 10]) },
    },
    Record {
        id: "trt-1654-deconv-outpad-bias-weightsname",
        title: "A bias together with output_padding beyond the pads does not parse",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/1654",
        reported_in: "TensorRT 8.0.1, mended by 8.2",
        symptom: Kind::RejectsValid,
        expects: "The bias is in the padded row and column too.",
        caveat: None,
        scope: Scope::Case { build: bias_beyond_pads, output: Some(&[1, 3, 12, 12]) },
    },
    Record {
        id: "trt-2910-deconv1d-outpad-flaky",
        title: "A 1D deconvolution with output_padding parses on some days only",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/2910",
        reported_in: "TensorRT 8.2, fixed in 8.5",
        symptom: Kind::Nondeterministic,
        expects: "The same result every time, for every length.",
        caveat: Some("What is recorded is one attempt; a campaign repeats a sample of its cases."),
        scope: Scope::Case { build: dynamic_1d, output: Some(&[1, 2, 41]) },
    },
    Record {
        id: "trt-1587-deconv1d-rejected",
        title: "A 1D deconvolution is rejected by a release that follows one which took it",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/1587",
        reported_in: "TensorRT 8.0.3, mended by 8.5",
        symptom: Kind::RejectsValid,
        expects: "What the same deconvolution in 2D with a unit axis gives.",
        caveat: None,
        scope: Scope::Case { build: plain_1d, output: Some(&[1, 2, 32]) },
    },
    Record {
        id: "trt-632-deconv-dynamic-shape",
        title: "No kernel is found for a deconvolution of dynamic extents",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/632",
        reported_in: "TensorRT 6.0 and 7.0, fixed in 7.1",
        symptom: Kind::BuildFailure,
        expects: "A result for every shape of the profile.",
        caveat: None,
        scope: Scope::Case { build: dynamic_2d, output: Some(&[1, 4, 16, 16]) },
    },
    Record {
        id: "trt-305-conv-relu-add-fusion",
        title: "A convolution whose result is used before and after its activation gives the activated one twice",
        upstream: "https://github.com/NVIDIA/TensorRT/issues/305",
        reported_in: "TensorRT 7.0",
        symptom: Kind::WrongValues,
        expects: "The sum of the convolution and of its positive part.",
        caveat: None,
        scope: Scope::Case { build: used_twice, output: Some(&[1, 8, 8, 8]) },
    },
];

/// Output padding that the end padding takes in, in three dimensions.
pub fn output_padding_3d() -> Case {
    Plain::of(&[&[1, 4, 3, 4, 5]], &[4, 2, 3, 3, 3]).deconv(ConvTranspose {
        strides: at(&[2, 2, 2]),
        pads: at(&[1; 6]),
        output_padding: at(&[1, 1, 1]),
        ..ConvTranspose::default()
    })
}

fn bias_beyond_pads() -> Case {
    Plain { opset: 11, bias: Bias::Float, ..Plain::of(&[&[1, 2, 4, 4]], &[2, 3, 2, 2]) }.deconv(
        ConvTranspose {
            strides: at(&[3, 3]),
            pads: at(&[0; 4]),
            output_padding: at(&[1, 1]),
            ..ConvTranspose::default()
        },
    )
}

fn dynamic_1d() -> Case {
    Plain {
        opset: 11,
        declared: vec![Dim::Fixed(1), Dim::Fixed(4), symbol("t")],
        ..Plain::of(&[&[1, 4, 20], &[1, 4, 7], &[1, 4, 20]], &[4, 2, 4])
    }
    .deconv(ConvTranspose {
        strides: at(&[2]),
        pads: at(&[1, 1]),
        output_padding: at(&[1]),
        ..ConvTranspose::default()
    })
}

fn plain_1d() -> Case {
    Plain { opset: 11, bias: Bias::Float, ..Plain::of(&[&[1, 4, 16]], &[4, 2, 4]) }.deconv(ConvTranspose {
        strides: at(&[2]),
        pads: at(&[1, 1]),
        ..ConvTranspose::default()
    })
}

fn dynamic_2d() -> Case {
    Plain {
        opset: 11,
        bias: Bias::Float,
        declared: vec![symbol("n"), Dim::Fixed(4), symbol("h"), symbol("w")],
        ..Plain::of(&[&[1, 4, 4, 6], &[2, 4, 6, 5], &[1, 4, 8, 8]], &[4, 4, 2, 2])
    }
    .deconv(ConvTranspose { strides: at(&[2, 2]), ..ConvTranspose::default() })
}

fn used_twice() -> Case {
    let mut sketch = Sketch::new(11);
    let x = sketch.floats(&[1, 3, 8, 8]);
    let weights = sketch.constant(integers(&[8, 3, 3, 3], 1));
    let bias = sketch.bias(8, Bias::Float);
    let op = Conv { pads: at(&[1; 4]), ..Conv::default() };
    let inputs: Vec<_> = [&x, &weights].into_iter().chain(&bias).collect();
    let y = sketch.conv(&[3, 3], op, &inputs);
    let positive = sketch.relu(&y);
    let sum = sketch.add(&y, &positive);
    sketch.case(&[&sum], vec![vec![integers(&[1, 3, 8, 8], 0)]])
}
