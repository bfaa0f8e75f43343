use nvinfer::{Product, Version};
use twinfer_case::{Condition, Effect, FallbackReason, Limitation};
use twinfer_onnx::DataType;

use super::Reader;

/// What a release takes and treats otherwise than the graph says.
pub fn of(version: Version, reader: Reader) -> Vec<Limitation> {
    let mut rules = Vec::new();
    if version.product() == Product::TensorRt {
        rules.push(channels_per_group());
    }
    if reader == Reader::Parser {
        rules.push(uint8_as_int8());
    }
    rules
}

fn channels_per_group() -> Limitation {
    Limitation {
        rule: "trt-int8-channels-per-group".to_owned(),
        source:
            "TensorRT operator reference, Convolution and Deconvolution: with INT8 inputs and outputs, the \
                 channels of a group must be multiples of 4"
                .to_owned(),
        concerns: Condition::All(vec![
            Condition::QuantizedOperands,
            Condition::ChannelsPerGroupNotMultipleOf(4),
        ]),
        effect: Effect::Fallback(FallbackReason::ChannelsPerGroup),
    }
}

fn uint8_as_int8() -> Limitation {
    Limitation {
        rule: "trt-uint8-only-on-dla".to_owned(),
        source:
            "TensorRT operator reference, Quantize: UINT8 is for DLA only; its ONNX parser takes it as INT8"
                .to_owned(),
        concerns: Condition::QuantizedAs(DataType::Uint8),
        effect: Effect::WrongValues,
    }
}
