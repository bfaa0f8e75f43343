//! What the sources of the parsers and converters let expect.

use twinfer_case::{Case, Kind};
use twinfer_onnx::{AutoPad, Conv, ConvTranspose, DataType, Dim};

use super::at;
use crate::{
    plain::Plain,
    quantized::{Activation, Bias, Quantized, Stored, activations},
    record::{Record, Scope},
    sketch::{Sketch, fixed, symbol},
};

const PARSER: &str = "https://github.com/onnx/onnx-tensorrt/blob/main/onnxOpImporters.cpp";
const VERSIONS: &str = "TensorRT 8.0 to 10, by the parser's source";

pub const RECORDS: &[Record] = &[
    Record {
        id: "pred-trt-autopad-ignores-output-shape",
        title: "output_shape is not read where auto_pad is set",
        upstream: PARSER,
        reported_in: VERSIONS,
        symptom: Kind::WrongShape,
        expects: "Five positions an axis, one cut off at each end.",
        caveat: None,
        scope: Scope::Case { build: same_and_output_shape, output: Some(&[1, 1, 5, 5]) },
    },
    Record {
        id: "pred-trt-same-drops-output-padding",
        title: "auto_pad SAME leaves output_padding out of the sum that it splits",
        upstream: PARSER,
        reported_in: VERSIONS,
        symptom: Kind::WrongValues,
        expects: "Two positions to cut off, one of them at the start.",
        caveat: None,
        scope: Scope::Case { build: || auto_padded(AutoPad::SameUpper), output: Some(&[1, 1, 6, 6]) },
    },
    Record {
        id: "pred-trt-valid-drops-output-padding",
        title: "auto_pad VALID drops output_padding",
        upstream: PARSER,
        reported_in: VERSIONS,
        symptom: Kind::WrongShape,
        expects: "Eight positions an axis, not seven.",
        caveat: None,
        scope: Scope::Case { build: || auto_padded(AutoPad::Valid), output: Some(&[1, 1, 8, 8]) },
    },
    Record {
        id: "pred-trt-outpad-tensor-bias",
        title: "A bias that is a tensor does not reach the strip that output_padding adds",
        upstream: PARSER,
        reported_in: "TensorRT 8.5 to 10, by the parser's source",
        symptom: Kind::WrongValues,
        expects: "The bias in every element of the strip.",
        caveat: None,
        scope: Scope::Case { build: computed_bias, output: Some(&[1, 2, 8, 8]) },
    },
    Record {
        id: "pred-trt-dynamic-output-shape",
        title: "output_shape with dynamic extents: padding is computed from an extent of -1",
        upstream: PARSER,
        reported_in: VERSIONS,
        symptom: Kind::RejectsValid,
        expects: "Padding computed when the model runs.",
        caveat: None,
        scope: Scope::Case { build: dynamic_output_shape, output: Some(&[1, 1, 6, 6]) },
    },
    Record {
        id: "pred-trt-output-shape-over-natural",
        title: "An output_shape two positions beyond the natural extent",
        upstream: PARSER,
        reported_in: VERSIONS,
        symptom: Kind::RejectsValid,
        expects: "Unspecified: zeros at the end, or a zero on each side.",
        caveat: Some("The text of ONNX leaves it open; nobody is blamed."),
        scope: Scope::Case { build: beyond_natural, output: Some(&[1, 1, 12, 12]) },
    },
    Record {
        id: "pred-trt-zero-scale",
        title: "A scale of zero, as a dead channel has it, is rejected",
        upstream: PARSER,
        reported_in: VERSIONS,
        symptom: Kind::RejectsValid,
        expects: "A channel of zeros.",
        caveat: Some("ONNX does not say that a scale is above zero, and divides by it in QuantizeLinear."),
        scope: Scope::Case { build: zero_scale, output: Some(&[1, 8, 8, 8]) },
    },
    Record {
        id: "pred-torchtrt-negative-post-padding",
        title: "output_padding above the pads makes the converter ask for a negative post-padding",
        upstream: "https://github.com/pytorch/TensorRT/blob/main/py/torch_tensorrt/dynamo/conversion/impl/deconv.py",
        reported_in: "Torch-TensorRT 2.7 and later, by its source",
        symptom: Kind::BuildFailure,
        expects: "Ten positions an axis.",
        caveat: None,
        scope: Scope::Case { build: negative_post_padding, output: Some(&[1, 2, 10, 10]) },
    },
];

fn same_and_output_shape() -> Case {
    Plain::of(&[&[1, 1, 3, 3]], &[1, 1, 3, 3]).deconv(ConvTranspose {
        auto_pad: Some(AutoPad::SameUpper),
        strides: at(&[2, 2]),
        output_shape: at(&[5, 5]),
        ..ConvTranspose::default()
    })
}

fn auto_padded(auto_pad: AutoPad) -> Case {
    Plain::of(&[&[1, 1, 3, 3]], &[1, 1, 3, 3]).deconv(ConvTranspose {
        auto_pad: Some(auto_pad),
        strides: at(&[2, 2]),
        output_padding: at(&[1, 1]),
        ..ConvTranspose::default()
    })
}

fn computed_bias() -> Case {
    Quantized { opset: 17, bias: Bias::Computed, ..Quantized::plain(&[1, 2, 3, 3], &[2, 2, 3, 3]) }.deconv(
        ConvTranspose {
            strides: at(&[2, 2]),
            pads: at(&[0; 4]),
            output_padding: at(&[1, 1]),
            ..ConvTranspose::default()
        },
    )
}

fn dynamic_output_shape() -> Case {
    Plain {
        declared: vec![Dim::Fixed(1), Dim::Fixed(1), symbol("h"), symbol("w")],
        ..Plain::of(&[&[1, 1, 3, 3]], &[1, 1, 3, 3])
    }
    .deconv(ConvTranspose {
        strides: at(&[2, 2]),
        output_shape: at(&[6, 6]),
        ..ConvTranspose::default()
    })
}

fn beyond_natural() -> Case {
    Plain::of(&[&[1, 1, 3, 3]], &[1, 1, 2, 2]).deconv(ConvTranspose {
        strides: at(&[4, 4]),
        output_shape: at(&[12, 12]),
        ..ConvTranspose::default()
    })
}

fn zero_scale() -> Case {
    let mut sketch = Sketch::new(17);
    let x = sketch.input(DataType::Float, &fixed(&[1, 3, 8, 8]));
    let data = sketch.qdq(&x, Activation::Int8);
    let scales = [0.25, 0.125, 0.0, 0.0625, 0.5, 0.25, 0.125, 0.0625];
    let weights = sketch.weights_scaled(&[8, 3, 3, 3], 0, Stored::Int8, &scales);
    let op = Conv { pads: at(&[1; 4]), ..Conv::default() };
    let y = sketch.conv(&[3, 3], op, &[&data, &weights]);
    sketch.case(&[&y], vec![vec![activations(&[1, 3, 8, 8])]])
}

fn negative_post_padding() -> Case {
    Plain { bias: Bias::Float, ..Plain::of(&[&[1, 2, 4, 4]], &[2, 2, 3, 3]) }.deconv(ConvTranspose {
        strides: at(&[2, 2]),
        pads: at(&[0; 4]),
        output_padding: at(&[1, 1]),
        ..ConvTranspose::default()
    })
}
