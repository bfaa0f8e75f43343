use nvinfer::{Product, Version};
use twinfer_case::{Condition, Effect, FallbackReason, Limitation};
use twinfer_onnx::DataType;

use super::reader::Reader;

/// The operators that a release computes otherwise than the graph says.
pub fn of(version: Version, reader: Reader) -> Vec<Limitation> {
    let mut rules = Vec::new();
    if version.product() == Product::TensorRt {
        rules.push(channels_per_group());
    }
    if reader == Reader::Parser {
        rules.push(uint8_as_int8());
    }
    rules.push(reductions_on_floats());
    rules
}

fn channels_per_group() -> Limitation {
    Limitation {
        rule: "trt-int8-channels-per-group".to_owned(),
        source:
            "TensorRT, setNbGroups of IConvolutionLayer and IDeconvolutionLayer: with groups in INT8, the \
                 channels of a group must be multiples of 4"
                .to_owned(),
        concerns: Condition::All(vec![
            Condition::QuantizedOperands,
            Condition::Grouped,
            Condition::ChannelsPerGroupNotMultipleOf(4),
        ]),
        effect: Effect::Fallback(FallbackReason::ChannelsPerGroup),
        mutants: Vec::new(),
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
        mutants: ["unsigned-as-signed", "uint8-as-int8"].map(str::to_owned).to_vec(),
    }
}

/// Its parser makes reductions of global pools.
fn reductions_on_floats() -> Limitation {
    Limitation {
        rule: "trt-reduces-int8-on-floats".to_owned(),
        source: "TensorRT, ReduceOperation in NvInfer.h: \"usually performs reduction for kINT8 via kFLOAT or kHALF\""
            .to_owned(),
        concerns: Condition::Operator("GlobalAveragePool".to_owned()),
        effect: Effect::OnFloats,
        mutants: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{Conv, DequantizeLinear, Graph, Initializer, Node, Op, Tensor, TensorData};

    use super::*;

    /// A quantized convolution with two channels on both sides.
    fn convolution(group: i64) -> Graph {
        let node = |op, inputs: &[&str], output: &str| Node {
            name: String::new(),
            op,
            inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
            outputs: vec![output.to_owned()],
        };
        let dequantize = || Op::DequantizeLinear(DequantizeLinear::default());
        let channels = 2 / usize::try_from(group).expect("few groups");
        let weights = Tensor { shape: vec![2, channels, 1], data: TensorData::Int8(vec![1; 2 * channels]) };
        Graph {
            opset: 17,
            inputs: Vec::new(),
            initializers: vec![Initializer { name: "w".to_owned(), tensor: weights }],
            nodes: vec![
                node(dequantize(), &["x", "s"], "xd"),
                node(dequantize(), &["w", "s"], "wd"),
                node(Op::Conv(Conv { group: Some(group), ..Conv::default() }), &["xd", "wd"], "y"),
            ],
            outputs: Vec::new(),
        }
    }

    #[test]
    fn channels_are_limited_where_there_are_groups() {
        let concerned = channels_per_group().concerns;
        assert!(concerned.holds(&convolution(2)));
        assert!(!concerned.holds(&convolution(1)), "a single group may have any number of channels");
    }
}
