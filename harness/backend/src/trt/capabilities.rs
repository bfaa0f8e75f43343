use nvinfer::{Product, Version};
use twinfer_case::{Capability, Condition};

/// What a release's ONNX parser and builder do not take.
pub fn of_parser(version: Version) -> Vec<Capability> {
    match version.product() {
        Product::TensorRt => Vec::new(),
        Product::TensorRtRtx => vec![strided_and_dilated_deconvolution()],
    }
}

/// What the lowering to layers, or a release's layers, do not take.
pub fn of_layers(version: Version) -> Vec<Capability> {
    let mut rules = of_parser(version);
    rules.extend([symmetric_quantisation(), pads_that_depend_on_shapes()]);
    rules
}

fn strided_and_dilated_deconvolution() -> Capability {
    Capability {
        rule: "rtx-deconvolution-strided-and-dilated".to_owned(),
        source: "measured on TensorRT-RTX 1.7.1: no ConvTranspose with stride > 1 and dilation > 1 builds"
            .to_owned(),
        refuses: Condition::All(vec![
            Condition::Operator("ConvTranspose".to_owned()),
            Condition::StridedAndDilated,
        ]),
    }
}

fn symmetric_quantisation() -> Capability {
    Capability {
        rule: "trt-symmetric-quantisation".to_owned(),
        source: "TensorRT operator reference, Quantize: quantisation is symmetric, the zero point is 0"
            .to_owned(),
        refuses: Condition::NonzeroZeroPoint,
    }
}

fn pads_that_depend_on_shapes() -> Capability {
    Capability {
        rule: "trt-api-dynamic-pads".to_owned(),
        source: "the lowering fixes pads when it builds the network, so they cannot follow a dynamic extent"
            .to_owned(),
        refuses: Condition::All(vec![
            Condition::DynamicSpatialShape,
            Condition::Any(vec![Condition::AutoPadSame, Condition::OutputShape]),
        ]),
    }
}
