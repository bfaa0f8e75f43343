#[cfg(test)]
mod reach;

use nvinfer::{Product, Version};
use twinfer_case::{Capability, Condition, Refusal, Stage};
use twinfer_onnx::DataType;

use super::reader::Reader;

/// The graphs that a release refuses; `has_gpu` is whether it executes what it builds.
pub fn of(version: Version, reader: Reader, has_gpu: bool) -> Vec<Capability> {
    let mut rules =
        vec![symmetric_quantization(), computed_scale(), computed_zero_point(), integer_convolutions()];
    match version.product() {
        Product::TensorRt => {}
        Product::TensorRtRtx => {
            rules.push(strided_and_dilated_deconvolution());
            if !has_gpu && version.parts() < (1, 7, 0) {
                rules.extend(quantizers_without_gpu());
            }
        }
    }
    match reader {
        Reader::Parser => {
            rules.push(int32_dequantization());
            if version.product() == Product::TensorRt && version.parts() < (10, 0, 0) {
                rules.extend([
                    explicit_zero_point(),
                    uint8_dequantization("Found invalid input type of UINT8"),
                ]);
            } else {
                rules.push(uint8_dequantization("Found unsupported input type of UINT8"));
            }
        }
        Reader::Layers => rules.extend([
            int8_only(),
            pads_that_depend_on_shapes(),
            dilated_pooling(),
            global_pooling_of_dynamic_extents(),
        ]),
    }
    rules
}

fn rule(name: &str, source: &str, refuses: Condition) -> Capability {
    let shows = Refusal::in_stage(Stage::Parse);
    Capability { rule: name.to_owned(), source: source.to_owned(), refuses, shows }
}

fn strided_and_dilated_deconvolution() -> Capability {
    let deconvolution = rule(
        "rtx-deconvolution-strided-and-dilated",
        "measured on TensorRT-RTX 1.7.1: no ConvTranspose with stride > 1 and dilation > 1 builds",
        Condition::All(vec![Condition::Operator("ConvTranspose".to_owned()), Condition::StridedAndDilated]),
    );
    let shows = Refusal::with_words(Stage::Build, "Strided & Dilated Deconv");
    Capability { shows, ..deconvolution }
}

/// Releases fail in two ways, 1.4 in both.
fn quantizers_without_gpu() -> [Capability; 2] {
    let shown_by = |words| Capability {
        shows: Refusal::with_words(Stage::Build, words),
        ..rule(
            "rtx-quantized-needs-gpu",
            "measured on TensorRT-RTX 1.4 to 1.6 without a GPU: most networks with a quantizer do not build",
            Condition::Any(vec![
                Condition::Operator("QuantizeLinear".to_owned()),
                Condition::Operator("DequantizeLinear".to_owned()),
            ]),
        )
    };
    ["CHECK(dtype == myelinTypeFloat", "Cuda Runtime (In generateForCurrent"].map(shown_by)
}

fn symmetric_quantization() -> Capability {
    rule(
        "trt-symmetric-quantization",
        "TensorRT operator reference, Quantize: quantization is symmetric, the zero point is 0",
        Condition::NonzeroZeroPoint,
    )
}

fn computed_scale() -> Capability {
    rule(
        "trt-scale-is-constant",
        "TensorRT operator reference, Quantize: the scale is a build-time constant",
        Condition::ComputedScale,
    )
}

fn computed_zero_point() -> Capability {
    rule(
        "trt-zero-point-is-constant",
        "TensorRT operator reference, Quantize: the zero point is a build-time constant",
        Condition::ComputedZeroPoint,
    )
}

fn integer_convolutions() -> Capability {
    rule(
        "trt-no-integer-convolution",
        "ONNX parser of TensorRT, docs/operators.md: ConvInteger and QLinearConv are not supported",
        Condition::Any(
            ["ConvInteger", "QLinearConv"].map(|name| Condition::Operator(name.to_owned())).to_vec(),
        ),
    )
}

fn int32_dequantization() -> Capability {
    rule(
        "trt-no-int32-dequantization",
        "TensorRT operator reference, Dequantize: the input is INT8, INT4, FP8 or FP4; a bias cannot be INT32",
        Condition::Any(vec![Condition::QuantizedAs(DataType::Int32), Condition::StoredAs(DataType::Int32)]),
    )
}

/// What a quantizer of the graph gave is another matter: the parser takes that as INT8.
fn uint8_dequantization(words: &str) -> Capability {
    let dequantization = rule(
        "trt-no-uint8-dequantization",
        "ONNX parser of TensorRT, QuantDequantLinearHelper: UINT8 is an invalid type of what DequantizeLinear takes, from \
         TensorRT 10 on unless quantization for DLA is enabled",
        Condition::StoredAs(DataType::Uint8),
    );
    let shows = Refusal::with_words(Stage::Parse, words);
    Capability { shows, ..dequantization }
}

fn explicit_zero_point() -> Capability {
    rule(
        "trt-8-explicit-zero-point",
        "ONNX parser of TensorRT 8: \"This version of TensorRT requires 3 inputs\" for QuantizeLinear and \
         DequantizeLinear",
        Condition::AbsentZeroPoint,
    )
}

fn int8_only() -> Capability {
    rule(
        "trt-api-int8-only",
        "TensorRT operator reference, Quantize: UINT8 is for DLA only, so the lowering has no layer for it",
        Condition::QuantizedAs(DataType::Uint8),
    )
}

fn dilated_pooling() -> Capability {
    rule(
        "trt-api-no-dilated-pooling",
        "TensorRT operator reference, Pooling: the layer has no dilation",
        Condition::All(vec![
            Condition::Any(
                ["AveragePool", "MaxPool"].map(|name| Condition::Operator(name.to_owned())).to_vec(),
            ),
            Condition::Dilated,
        ]),
    )
}

fn global_pooling_of_dynamic_extents() -> Capability {
    rule(
        "trt-api-dynamic-global-pooling",
        "the lowering fixes the window of GlobalAveragePool when it builds the network, so it cannot follow a dynamic extent",
        Condition::All(vec![
            Condition::Operator("GlobalAveragePool".to_owned()),
            Condition::DynamicSpatialShape,
        ]),
    )
}

fn pads_that_depend_on_shapes() -> Capability {
    rule(
        "trt-api-dynamic-pads",
        "the lowering fixes pads when it builds the network, so they cannot follow a dynamic extent",
        Condition::All(vec![
            Condition::DynamicSpatialShape,
            Condition::Any(vec![Condition::AutoPadSame, Condition::OutputShape]),
        ]),
    )
}
