//! ONNX Runtime, its quantization tool, and ONNX's own inference and reference.

use twinfer_case::{Case, Expectation, Kind};
use twinfer_onnx::{AutoPad, Conv, ConvTranspose, Dim, Rule};

use super::at;
use crate::{
    plain::Plain,
    quantized::{Bias, Quantized, Stored},
    record::{Record, Scope},
    sketch::{Sketch, floats, integers, symbol},
};

pub const RECORDS: &[Record] = &[
    Record {
        id: "ort-4086-deconv-autopad-ignored",
        title: "auto_pad of a deconvolution is treated as VALID",
        upstream: "https://github.com/microsoft/onnxruntime/issues/4086",
        reported_in: "ONNX Runtime 1.3 and 1.4",
        symptom: Kind::WrongShape,
        expects: "The input's extents times the stride of one.",
        caveat: None,
        scope: Scope::Case { build: same_of_stride_one, output: Some(&[1, 1, 2, 2]) },
    },
    Record {
        id: "ort-5368-same-upper-lower-swapped",
        title: "SAME_UPPER and SAME_LOWER are swapped in a deconvolution",
        upstream: "https://github.com/microsoft/onnxruntime/pull/5368",
        reported_in: "ONNX Runtime up to 1.5",
        symptom: Kind::WrongValues,
        expects: "SAME_LOWER cuts the odd position off at the start.",
        caveat: None,
        scope: Scope::Case { build: same_lower, output: Some(&[1, 1, 6, 6]) },
    },
    Record {
        id: "ort-11927-same-with-output-padding",
        title: "SAME_UPPER together with output_padding: runtimes and shape inference disagree",
        upstream: "https://github.com/microsoft/onnxruntime/issues/11927",
        reported_in: "ONNX Runtime 1.11 and later, onnx 1.12 and later, TensorRT",
        symptom: Kind::WrongValues,
        expects: "The input's extents times the stride.",
        caveat: Some("The specification text and the shape inference of ONNX contradict each other."),
        scope: Scope::Case { build: || padded_same(AutoPad::SameUpper), output: Some(&[1, 1, 6, 6]) },
    },
    Record {
        id: "onnx-4299-same-output-padding-inference",
        title: "Shape inference adds output_padding to what SAME fixes",
        upstream: "https://github.com/onnx/onnx/issues/4299",
        reported_in: "onnx 1.12 and later, shape inference",
        symptom: Kind::WrongShape,
        expects: "The input's extents times the stride.",
        caveat: Some(
            "Reported for the shape inference of onnx, which is not a backend; a backend may use its result.",
        ),
        scope: Scope::Case { build: || padded_same(AutoPad::SameLower), output: Some(&[1, 1, 6, 6]) },
    },
    Record {
        id: "ort-13311-output-shape-default-split",
        title: "output_shape without auto_pad: the odd position is cut off at the wrong end",
        upstream: "https://github.com/microsoft/onnxruntime/pull/13311",
        reported_in: "ONNX Runtime up to 1.13",
        symptom: Kind::WrongValues,
        expects: "The larger part of the padding at the start.",
        caveat: None,
        scope: Scope::Case { build: odd_output_shape, output: Some(&[1, 1, 6, 6]) },
    },
    Record {
        id: "ort-2518-deconv-dilation-shape",
        title: "The extent of a dilated kernel is computed wrongly",
        upstream: "https://github.com/microsoft/onnxruntime/issues/2518",
        reported_in: "ONNX Runtime up to 1.0",
        symptom: Kind::WrongShape,
        expects: "A kernel of three with dilation three spans seven positions.",
        caveat: None,
        scope: Scope::Case { build: dilated, output: Some(&[1, 3, 17, 10]) },
    },
    Record {
        id: "ort-14208-outpad-lt-dilation",
        title: "output_padding below the dilation but not below the stride",
        upstream: "https://github.com/microsoft/onnxruntime/issues/14208",
        reported_in: "ONNX Runtime 1.13 computes it wrongly, later releases reject it",
        symptom: Kind::RejectsValid,
        expects: "The whole deconvolution and one position more.",
        caveat: None,
        scope: Scope::Case { build: padded_below_dilation, output: Some(&[1, 3, 3, 3]) },
    },
    Record {
        id: "ort-29446-output-shape-oob",
        title: "An output_shape beyond the natural extent reads out of bounds",
        upstream: "https://github.com/microsoft/onnxruntime/pull/29446",
        reported_in: "ONNX Runtime up to 1.27, CPU provider",
        symptom: Kind::AcceptsInvalid,
        expects: "Unspecified: zeros, or a rejection.",
        caveat: Some(
            "The ONNX specification does not define it; only a crash or an unwritten output is a divergence.",
        ),
        scope: Scope::Case { build: far_output_shape, output: Some(&[1, 1, 9, 9]) },
    },
    Record {
        id: "ort-29464-conv-bias-oob",
        title: "A bias shorter than the output channels is read out of bounds",
        upstream: "https://github.com/microsoft/onnxruntime/pull/29464",
        reported_in: "ONNX Runtime up to 1.28, CPU provider",
        symptom: Kind::AcceptsInvalid,
        expects: "A rejection.",
        caveat: None,
        scope: Scope::Case { build: short_bias, output: None },
    },
    Record {
        id: "ort-21034-deconv-bias-cudnnaddtensor",
        title: "Adding the bias of a deconvolution fails on CUDA",
        upstream: "https://github.com/microsoft/onnxruntime/issues/21034",
        reported_in: "ONNX Runtime 1.18, CUDA provider",
        symptom: Kind::RejectsValid,
        expects: "An ordinary result.",
        caveat: None,
        scope: Scope::Case { build: biased, output: Some(&[1, 2, 8, 16]) },
    },
    Record {
        id: "ort-12321-fusedconv-z-shape",
        title: "A fused Conv, Add and Relu fails if the added operand is broadcast",
        upstream: "https://github.com/microsoft/onnxruntime/issues/12321",
        reported_in: "ONNX Runtime 1.11 to 1.17, CUDA provider",
        symptom: Kind::RejectsValid,
        expects: "Add broadcasts.",
        caveat: None,
        scope: Scope::Case { build: broadcast_residual, output: Some(&[1, 4, 6, 6]) },
    },
    Record {
        id: "ort-12498-convadd-group",
        title: "A constant of the output's extents is fused into a grouped convolution as if it were its bias",
        upstream: "https://github.com/microsoft/onnxruntime/issues/12498",
        reported_in: "ONNX Runtime 1.12",
        symptom: Kind::WrongValues,
        expects: "The sum of both.",
        caveat: None,
        scope: Scope::Case { build: added_constant, output: Some(&[1, 8, 4, 4]) },
    },
    Record {
        id: "ort-22947-fusedconv-leakyrelu",
        title: "A convolution fused with LeakyRelu is rejected on CUDA",
        upstream: "https://github.com/microsoft/onnxruntime/issues/22947",
        reported_in: "ONNX Runtime 1.19.2, CUDA provider",
        symptom: Kind::BuildFailure,
        expects: "An ordinary result.",
        caveat: None,
        scope: Scope::Outside(
            "LeakyRelu is not supported in generated graphs, and the report is about a model that another provider optimized",
        ),
    },
    Record {
        id: "ort-4024-deconv-empty-cuda",
        title: "A deconvolution of an empty batch fails on CUDA",
        upstream: "https://github.com/microsoft/onnxruntime/issues/4024",
        reported_in: "ONNX Runtime 1.3, CUDA provider",
        symptom: Kind::RejectsValid,
        expects: "An empty output.",
        caveat: None,
        scope: Scope::Case { build: || batches(&[&[0, 4, 7, 7]]), output: Some(&[0, 4, 14, 14]) },
    },
    Record {
        id: "ort-10020-empty-then-nonempty",
        title: "An empty batch spoils the session for the batch after it",
        upstream: "https://github.com/microsoft/onnxruntime/issues/10020",
        reported_in: "ONNX Runtime 1.10, CUDA provider",
        symptom: Kind::RejectsValid,
        expects: "The second batch as if it were the first.",
        caveat: None,
        scope: Scope::Case {
            build: || batches(&[&[0, 4, 7, 7], &[2, 4, 7, 7]]),
            output: Some(&[2, 4, 14, 14]),
        },
    },
    Record {
        id: "ort-19694-quantize-deconv-axis",
        title: "The quantization tool puts the scales of deconvolution weights along the input channels",
        upstream: "https://github.com/microsoft/onnxruntime/issues/19694",
        reported_in: "ONNX Runtime's quantization tool up to 1.17",
        symptom: Kind::BuildFailure,
        expects: "The result of the model as it is, although the tool intended another one.",
        caveat: Some(
            "Such a model is valid ONNX; the defect is the tool's. The map is smaller than the reported one.",
        ),
        scope: Scope::Case { build: tool_axis, output: Some(&[1, 64, 4, 4]) },
    },
    Record {
        id: "ort-26456-weightbiasquant-deconv",
        title: "A graph transformation quantizes the bias of a deconvolution along the wrong axis",
        upstream: "https://github.com/microsoft/onnxruntime/pull/26456",
        reported_in: "ONNX Runtime 1.20 to 1.23",
        symptom: Kind::WrongValues,
        expects: "Scales along the output channels.",
        caveat: None,
        scope: Scope::Case { build: float_bias, output: Some(&[1, 6, 11, 11]) },
    },
    Record {
        id: "ort-32132-qdq-ties",
        title: "Integer kernels and simulated ones differ where a value lies half way between two steps",
        upstream: "https://github.com/microsoft/onnxruntime/issues/32132",
        reported_in: "ONNX Runtime 1.29, CPU provider",
        symptom: Kind::WrongValues,
        expects: "At most one step, and only at ties.",
        caveat: None,
        scope: Scope::Case { build: ties, output: Some(&[1, 4, 5, 5]) },
    },
    Record {
        id: "probe-onnx-refeval-grouped-deconv",
        title: "The reference evaluator of onnx cannot compute a grouped deconvolution",
        upstream: "https://github.com/onnx/onnx/blob/main/onnx/reference/ops/op_conv_transpose.py",
        reported_in: "onnx 1.23.2, reference evaluator",
        symptom: Kind::RejectsValid,
        expects: "An ordinary result.",
        caveat: Some("Reported for the reference evaluator of onnx, which is not a backend."),
        scope: Scope::Case { build: grouped, output: Some(&[1, 4, 7, 7]) },
    },
];

fn same_of_stride_one() -> Case {
    Plain { opset: 11, ..Plain::of(&[&[1, 1, 2, 2]], &[1, 1, 3, 3]) }
        .deconv(ConvTranspose { auto_pad: Some(AutoPad::SameUpper), ..ConvTranspose::default() })
}

fn same_lower() -> Case {
    Plain { opset: 11, ..Plain::of(&[&[1, 1, 3, 3]], &[1, 1, 3, 3]) }.deconv(ConvTranspose {
        auto_pad: Some(AutoPad::SameLower),
        strides: at(&[2, 2]),
        ..ConvTranspose::default()
    })
}

fn padded_same(auto_pad: AutoPad) -> Case {
    Plain { opset: 13, ..Plain::of(&[&[1, 2, 3, 3]], &[2, 1, 3, 3]) }.deconv(ConvTranspose {
        auto_pad: Some(auto_pad),
        strides: at(&[2, 2]),
        output_padding: at(&[1, 1]),
        ..ConvTranspose::default()
    })
}

fn odd_output_shape() -> Case {
    Plain { opset: 11, ..Plain::of(&[&[1, 1, 3, 3]], &[1, 1, 3, 3]) }.deconv(ConvTranspose {
        strides: at(&[2, 2]),
        output_shape: at(&[6, 6]),
        ..ConvTranspose::default()
    })
}

fn dilated() -> Case {
    Plain { opset: 11, ..Plain::of(&[&[1, 1, 10, 10]], &[1, 3, 3, 5]) }.deconv(ConvTranspose {
        strides: at(&[2, 1]),
        dilations: at(&[3, 1]),
        pads: at(&[4, 2, 4, 2]),
        ..ConvTranspose::default()
    })
}

fn padded_below_dilation() -> Case {
    Plain { bias: Bias::Float, ..Plain::of(&[&[1, 1, 6, 6]], &[1, 3, 2, 2]) }.deconv(ConvTranspose {
        strides: at(&[1, 1]),
        dilations: at(&[2, 2]),
        pads: at(&[3; 4]),
        output_padding: at(&[1, 1]),
        ..ConvTranspose::default()
    })
}

fn far_output_shape() -> Case {
    Plain::of(&[&[1, 1, 3, 3]], &[1, 1, 3, 3]).deconv(ConvTranspose {
        strides: at(&[2, 2]),
        output_shape: at(&[9, 9]),
        ..ConvTranspose::default()
    })
}

fn short_bias() -> Case {
    let mut sketch = Sketch::new(17);
    let x = sketch.floats(&[1, 1, 4, 4]);
    let weights = sketch.constant(integers(&[4, 1, 3, 3], 1));
    let bias = sketch.constant(floats(&[1], [2.0]));
    let y = sketch.conv(&[3, 3], Conv::default(), &[&x, &weights, &bias]);
    let case = sketch.case(&[&y], vec![vec![integers(&[1, 1, 4, 4], 0)]]);
    Case { expectation: Expectation::Invalid(Rule::BiasShape.name().to_owned()), ..case }
}

fn biased() -> Case {
    Plain { bias: Bias::Float, ..Plain::of(&[&[1, 4, 4, 8]], &[4, 2, 2, 2]) }
        .deconv(ConvTranspose { strides: at(&[2, 2]), ..ConvTranspose::default() })
}

fn broadcast_residual() -> Case {
    let mut sketch = Sketch::new(17);
    let dims = [Dim::Fixed(1), Dim::Fixed(4), symbol("h"), symbol("w")];
    let x = sketch.input(twinfer_onnx::DataType::Float, &dims);
    let weights = sketch.constant(integers(&[4, 4, 3, 3], 1));
    let bias = sketch.bias(4, Bias::Float);
    let operand = sketch.constant(integers(&[1, 4, 1, 1], 2));
    let inputs: Vec<_> = [&x, &weights].into_iter().chain(&bias).collect();
    let y = sketch.conv(&[3, 3], Conv { pads: at(&[1; 4]), ..Conv::default() }, &inputs);
    let sum = sketch.add(&y, &operand);
    let positive = sketch.relu(&sum);
    sketch.case(&[&positive], vec![vec![integers(&[1, 4, 5, 3], 0)], vec![integers(&[1, 4, 6, 6], 1)]])
}

fn added_constant() -> Case {
    let mut sketch = Sketch::new(17);
    let x = sketch.floats(&[1, 8, 4, 4]);
    let weights = sketch.constant(integers(&[8, 2, 1, 1], 1));
    let bias = sketch.bias(8, Bias::Float);
    let constant = sketch.constant(integers(&[1, 8, 4, 4], 2));
    let inputs: Vec<_> = [&x, &weights].into_iter().chain(&bias).collect();
    let y = sketch.conv(&[1, 1], Conv { group: Some(4), ..Conv::default() }, &inputs);
    let sum = sketch.add(&y, &constant);
    sketch.case(&[&sum], vec![vec![integers(&[1, 8, 4, 4], 0)]])
}

fn batches(runs: &[&[usize]]) -> Case {
    let declared = vec![symbol("n"), Dim::Fixed(4), Dim::Fixed(7), Dim::Fixed(7)];
    Plain { bias: Bias::Float, declared, ..Plain::of(runs, &[4, 4, 2, 2]) }
        .deconv(ConvTranspose { strides: at(&[2, 2]), ..ConvTranspose::default() })
}

fn tool_axis() -> Case {
    Quantized {
        opset: 17,
        stored: Stored::Int8,
        bias: Bias::Int32,
        ..Quantized::plain(&[1, 3, 4, 4], &[3, 64, 3, 3])
    }
    .deconv(ConvTranspose { pads: at(&[1; 4]), ..ConvTranspose::default() })
}

fn float_bias() -> Case {
    Quantized {
        opset: 17,
        axis: 1,
        stored: Stored::Int8,
        bias: Bias::Float,
        ..Quantized::plain(&[1, 4, 5, 5], &[4, 6, 3, 3])
    }
    .deconv(ConvTranspose { strides: at(&[2, 2]), ..ConvTranspose::default() })
}

fn ties() -> Case {
    Quantized { opset: 17, output_qdq: true, ..Quantized::plain(&[1, 4, 5, 5], &[4, 4, 1, 1]) }
        .conv(Conv::default())
}

fn grouped() -> Case {
    Plain::of(&[&[1, 4, 3, 3]], &[4, 2, 3, 3]).deconv(ConvTranspose {
        group: Some(2),
        strides: at(&[2, 2]),
        ..ConvTranspose::default()
    })
}
