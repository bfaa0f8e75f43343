use twinfer_case::Regime;
use twinfer_onnx::{AutoPad, Axis, DataType, Dim, Graph, Node, Op};

use super::covered_convolution::CoveredConvolution;
use crate::BATCH;

/// Something that a convolution of a case has exactly one value of.
#[derive(Debug)]
pub struct Attribute {
    pub name: &'static str,
    pub values: &'static [&'static str],
    pub of: fn(&CoveredConvolution) -> &'static str,
}

macro_rules! attributes {
    ($($name:literal $values:tt by $of:expr;)*) => {
        /// Every attribute, in the order of reports.
        pub const ATTRIBUTES: &[Attribute] = &[$(Attribute { name: $name, values: &$values, of: $of }),*];
    };
}

attributes! {
    "operator" ["Conv", "ConvTranspose"] by
        |conv| if conv.window.transposed { "ConvTranspose" } else { "Conv" };
    "spatial axes" ["1", "2", "3"] by |conv| number(conv.axes.len());
    "element type" ["FLOAT", "FLOAT16"] by |conv| match conv.case.request.precision {
        DataType::Float16 => "FLOAT16",
        _ => "FLOAT",
    };
    "opset" ["11 to 12", "13", "14", "15 to 21", "22 to newest"] by |conv| match conv.graph.opset {
        ..=12 => "11 to 12",
        13 => "13",
        14 => "14",
        15..=21 => "15 to 21",
        22.. => "22 to newest",
    };
    "input data" ["summed without rounding", "normally distributed", "of many magnitudes", "around the smallest normal number", "near the largest number", "with NaN and infinities", "integers"] by |conv| match conv.regime() {
        Some(Regime::Integers { .. }) => "integers",
        Some(Regime::Exact { .. }) => "summed without rounding",
        Some(Regime::WideRange) => "of many magnitudes",
        Some(Regime::Denormal) => "around the smallest normal number",
        Some(Regime::Saturating) => "near the largest number",
        Some(Regime::Special) => "with NaN and infinities",
        Some(Regime::Gaussian) | None => "normally distributed",
    };
    "batch size" ["0", "1", "2", "3"] by |conv| number(conv.batch);
    "group" ["1", "above 1", "depthwise"] by |conv| match (conv.channels.group, conv.channels.inputs) {
        (1, _) => "1",
        (_, 1) => "depthwise",
        _ => "above 1",
    };
    "input channels per group" ["1", "2", "3", "4", "5", "8", "other"] by |conv| channels(conv.channels.inputs);
    "output channels per group" ["1", "2", "3", "4", "5", "8", "other"] by |conv| channels(conv.channels.outputs);
    "input and output channels per group" ["equal", "different"] by
        |conv| if conv.channels.inputs == conv.channels.outputs { "equal" } else { "different" };
    "spatial size of the input" ["1", "2 to 4", "5 or more"] by |conv| match largest(conv, |axis| axis.input) {
        ..=1 => "1",
        2..=4 => "2 to 4",
        5.. => "5 or more",
    };
    "kernel size" ["1 on all axes", "1 on some axes", "above 1 on all axes"] by
        |conv| match conv.axes.iter().filter(|axis| axis.kernel == 1).count() {
            0 => "above 1 on all axes",
            ones if ones == conv.axes.len() => "1 on all axes",
            _ => "1 on some axes",
        };
    "kernel size against stride" ["smaller on some axis", "never smaller"] by
        |conv| if conv.axes.iter().any(|axis| axis.kernel < axis.stride) {
            "smaller on some axis"
        } else {
            "never smaller"
        };
    "largest stride" ["1", "2", "3", "4"] by |conv| number(largest(conv, |axis| axis.stride));
    "largest dilation" ["1", "2", "3"] by |conv| number(largest(conv, |axis| axis.dilation));
    "pads" ["absent", "0", "symmetric", "asymmetric"] by |conv| match conv.window.pads {
        None => "absent",
        Some(pads) if pads.iter().all(|pad| *pad == 0) => "0",
        Some(pads) if pads[..pads.len() / 2] == pads[pads.len() / 2..] => "symmetric",
        Some(_) => "asymmetric",
    };
    "auto_pad" ["absent", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] by
        |conv| match conv.window.auto_pad {
            None => "absent",
            Some(AutoPad::NotSet) => "NOTSET",
            Some(AutoPad::SameUpper) => "SAME_UPPER",
            Some(AutoPad::SameLower) => "SAME_LOWER",
            Some(AutoPad::Valid) => "VALID",
        };
    "begin and end padding together" ["0", "even", "odd on some axis"] by |conv| total_padding(&conv.axes);
    "output_shape" ["absent", "present"] by |conv| written(conv.window.output_shape.is_some());
    "output_padding" ["absent", "0", "above 0 and below the stride", "at least the stride"] by |conv| output_padding(conv);
    "kernel_shape attribute" ["absent", "present"] by |conv| written(conv.window.kernel_shape.is_some());
    "strides attribute" ["absent", "present with the default", "present with another value"] by |conv| need(conv.window.strides);
    "dilations attribute" ["absent", "present with the default", "present with another value"] by |conv| need(conv.window.dilations);
    "group attribute" ["absent", "present with the default", "present with another value"] by |conv| match conv.window.group {
        None => "absent",
        Some(1) => "present with the default",
        Some(_) => "present with another value",
    };
    "weights come from" ["graph input", "initializer", "Constant", "Identity", "Add", "Transpose", "DequantizeLinear", "QuantizeLinear and DequantizeLinear"] by |conv| source(conv, 1);
    "bias comes from" ["no bias", "no bias (empty name)", "graph input", "initializer", "Constant", "Identity", "Add", "DequantizeLinear"] by |conv| source(conv, 2);
    "input quantized as" ["not quantized", "INT8", "UINT8"] by |conv| integers(conv, 0);
    "zero point of the input" ["not quantized", "absent", "0", "other"] by |conv| zero_point(conv, 0);
    "weights quantized as" ["not quantized", "INT8", "UINT8"] by |conv| integers(conv, 1);
    "zero point of the weights" ["not quantized", "absent", "0", "other"] by |conv| zero_point(conv, 1);
    "scales of the weights" ["not quantized", "one", "per output channel", "per input channel", "along a kernel axis"] by |conv| scales(conv);
    "axis of the weights' DequantizeLinear" ["not quantized", "absent", "negative", "0", "1", "2 or more"] by |conv| match conv.quantization(1) {
        None => "not quantized",
        Some(quantization) => match quantization.axis {
            None => "absent",
            Some(..0) => "negative",
            Some(0) => "0",
            Some(1) => "1",
            Some(2..) => "2 or more",
        },
    };
    "branches of the graph" ["none", "joined by Add", "joined by Concat", "with MaxPool"] by |conv| ways(conv);
    "quantized inputs of the Add that joins branches" ["no such Add", "none", "one", "both"] by |conv| quantized_at_add(conv);
    "QuantizeLinear nodes on one tensor" ["at most one", "several"] by |conv| conv.quantizers_of_one_value();
    "position among the convolutions" ["the only one", "first", "in the middle", "last"] by |conv| match conv.place {
        (_, 1) => "the only one",
        (0, _) => "first",
        (place, count) if place + 1 == count => "last",
        _ => "in the middle",
    };
    "node before" [
        "graph input", "Relu", "another activation", "Add", "BatchNormalization", "MaxPool", "AveragePool", "Concat", "Conv or ConvTranspose",
        "DequantizeLinear", "Transpose"
    ] by
        |conv| conv.graph.producer(conv.unquantized(&conv.node.inputs[0])).map_or("graph input", operator);
    "node after" [
        "graph output", "Relu", "another activation", "Add", "BatchNormalization", "MaxPool", "AveragePool", "Concat", "QuantizeLinear",
        "Conv or ConvTranspose", "Transpose"
    ] by |conv| conv.graph.readers(&conv.node.outputs[0]).next().map_or("graph output", operator);
    "type of the graph output" ["float", "float from DequantizeLinear", "INT8", "UINT8"] by |conv| {
        let output = conv.graph.outputs.first();
        let last = output.and_then(|output| conv.graph.producer(&output.name)).map(|node| &node.op);
        match (last, output.map(|output| output.dtype)) {
            (Some(Op::DequantizeLinear(_)), _) => "float from DequantizeLinear",
            (_, Some(DataType::Int8)) => "INT8",
            (_, Some(DataType::Uint8)) => "UINT8",
            _ => "float",
        }
    };
    "type of the graph input" ["float", "INT8", "UINT8"] by
        |conv| match conv.graph.inputs.first().map(|input| input.dtype) {
            Some(DataType::Int8) => "INT8",
            Some(DataType::Uint8) => "UINT8",
            _ => "float",
        };
    "dynamic axes" ["none", "batch", "spatial", "batch and spatial"] by |conv| dynamic_axes(conv);
    "inferences in one session" ["1", "2", "3"] by |conv| number(conv.case.runs.len());
    "input shapes of these inferences" ["the same", "different"] by |conv| {
        let shape = |run: usize| conv.case.runs[run].inputs[0].shape();
        if (1..conv.case.runs.len()).all(|run| shape(run) == shape(0)) { "the same" } else { "different" }
    };
}

const fn number(number: usize) -> &'static str {
    match number {
        0 => "0",
        1 => "1",
        2 => "2",
        3 => "3",
        4 => "4",
        _ => "more",
    }
}

const fn channels(count: usize) -> &'static str {
    match count {
        1..=4 => number(count),
        5 => "5",
        8 => "8",
        _ => "other",
    }
}

const fn written(written: bool) -> &'static str {
    if written { "present" } else { "absent" }
}

fn largest(conv: &CoveredConvolution, of: impl Fn(&Axis) -> usize) -> usize {
    conv.axes.iter().map(of).max().unwrap_or(0)
}

fn need(entries: Option<&[i64]>) -> &'static str {
    match entries {
        None => "absent",
        Some(entries) if entries.iter().all(|entry| *entry == 1) => "present with the default",
        Some(_) => "present with another value",
    }
}

fn total_padding(axes: &[Axis]) -> &'static str {
    let total = |axis: &Axis| axis.pad_begin as isize + axis.pad_end;
    if axes.iter().any(|axis| total(axis) % 2 != 0) {
        "odd on some axis"
    } else if axes.iter().any(|axis| total(axis) != 0) {
        "even"
    } else {
        "0"
    }
}

fn output_padding(conv: &CoveredConvolution) -> &'static str {
    if conv.window.output_padding.is_none() {
        "absent"
    } else if conv.axes.iter().all(|axis| axis.output_padding == 0) {
        "0"
    } else if conv.axes.iter().all(|axis| axis.output_padding < axis.stride) {
        "above 0 and below the stride"
    } else {
        "at least the stride"
    }
}

fn source(conv: &CoveredConvolution, input: usize) -> &'static str {
    match conv.node.inputs.get(input).map(String::as_str) {
        None => "no bias",
        Some("") => "no bias (empty name)",
        Some(name) if is_rounded(conv.graph, name) => "QuantizeLinear and DequantizeLinear",
        Some(name) if conv.graph.input(name).is_some() => "graph input",
        Some(name) => conv.graph.producer(name).map_or("initializer", operator),
    }
}

/// Whether a value went through both quantizers.
fn is_rounded(graph: &Graph, name: &str) -> bool {
    let integers = graph.producer(name).filter(|node| matches!(node.op, Op::DequantizeLinear(_)));
    let producer = integers.and_then(|node| graph.producer(node.input(0)?));
    producer.is_some_and(|node| matches!(node.op, Op::QuantizeLinear(_)))
}

fn integers(conv: &CoveredConvolution, input: usize) -> &'static str {
    match conv.quantization(input).map(|quantization| quantization.dtype) {
        None => "not quantized",
        Some(DataType::Uint8) => "UINT8",
        Some(_) => "INT8",
    }
}

fn zero_point(conv: &CoveredConvolution, input: usize) -> &'static str {
    match conv.quantization(input).map(|quantization| quantization.zero_point) {
        None => "not quantized",
        Some(None) => "absent",
        Some(Some(zero_point)) if zero_point.to_f64().iter().all(|zero_point| *zero_point == 0.0) => "0",
        Some(Some(_)) => "other",
    }
}

fn scales(conv: &CoveredConvolution) -> &'static str {
    let Some(quantization) = conv.quantization(1) else { return "not quantized" };
    if quantization.scales == 1 {
        return "one";
    }
    let rank = conv.axes.len() as i64 + 2;
    let outputs = conv.window.output_channel_axis() as i64;
    match quantization.axis.unwrap_or(1).rem_euclid(rank) {
        axis if axis == outputs => "per output channel",
        axis if axis < 2 => "per input channel",
        _ => "along a kernel axis",
    }
}

fn ways(conv: &CoveredConvolution) -> &'static str {
    let nodes = &conv.graph.nodes;
    if nodes.iter().any(|node| matches!(node.op, Op::MaxPool(_))) {
        "with MaxPool"
    } else if nodes.iter().any(|node| matches!(node.op, Op::Concat(_))) {
        "joined by Concat"
    } else if nodes.iter().any(|node| conv.joined(node).is_some()) {
        "joined by Add"
    } else {
        "none"
    }
}

fn quantized_at_add(conv: &CoveredConvolution) -> &'static str {
    let joined = conv.graph.nodes.iter().find_map(|node| conv.joined(node));
    let quantized =
        |names: &[String]| names.iter().filter(|name| conv.unquantized(name) != name.as_str()).count();
    match joined.map(quantized) {
        None => "no such Add",
        Some(0) => "none",
        Some(1) => "one",
        Some(_) => "both",
    }
}

const fn operator(node: &Node) -> &'static str {
    match node.op {
        Op::AveragePool(_) | Op::GlobalAveragePool => "AveragePool",
        Op::Clip | Op::HardSwish | Op::LeakyRelu(_) | Op::Mul | Op::Sigmoid => "another activation",
        Op::Relu => "Relu",
        Op::Add => "Add",
        Op::Identity => "Identity",
        Op::BatchNormalization(_) => "BatchNormalization",
        Op::Concat(_) => "Concat",
        Op::Constant(_) => "Constant",
        Op::MaxPool(_) => "MaxPool",
        Op::Transpose(_) => "Transpose",
        Op::QuantizeLinear(_) => "QuantizeLinear",
        Op::DequantizeLinear(_) => "DequantizeLinear",
        _ if node.op.is_convolution() => "Conv or ConvTranspose",
        _ => "another operator",
    }
}

fn dynamic_axes(conv: &CoveredConvolution) -> &'static str {
    let dims = conv.graph.inputs.first().and_then(|input| input.shape.as_deref()).unwrap_or_default();
    let has = |is_wanted: fn(&str) -> bool| {
        dims.iter().any(|dim| matches!(dim, Dim::Symbolic(name) if is_wanted(name)))
    };
    match (has(|name| name == BATCH), has(|name| name != BATCH)) {
        (false, false) => "none",
        (true, false) => "batch",
        (false, true) => "spatial",
        (true, true) => "batch and spatial",
    }
}
