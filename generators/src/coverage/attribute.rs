use twinfer_case::Regime;
use twinfer_onnx::{AutoPad, Axis, DataType, Dim, Graph, Node, Op};

use super::covered_convolution::CoveredConvolution;

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
    "values" ["exact", "gaussian", "wide-range", "denormal", "saturating", "special", "integers"] by |conv| match conv.regime() {
        Some(Regime::Integers { .. }) => "integers",
        Some(Regime::Exact { .. }) => "exact",
        Some(Regime::WideRange) => "wide-range",
        Some(Regime::Denormal) => "denormal",
        Some(Regime::Saturating) => "saturating",
        Some(Regime::Special) => "special",
        Some(Regime::Gaussian) | None => "gaussian",
    };
    "batch" ["0", "1", "2", "3"] by |conv| number(conv.batch);
    "group" ["1", "several", "depthwise"] by |conv| match (conv.channels.group, conv.channels.inputs) {
        (1, _) => "1",
        (_, 1) => "depthwise",
        _ => "several",
    };
    "input channels of a group" ["1", "2", "3", "4", "5", "8", "others"] by |conv| channels(conv.channels.inputs);
    "output channels of a group" ["1", "2", "3", "4", "5", "8", "others"] by |conv| channels(conv.channels.outputs);
    "channels in and out" ["equal", "different"] by
        |conv| if conv.channels.inputs == conv.channels.outputs { "equal" } else { "different" };
    "input extents" ["all 1", "up to 4", "larger"] by |conv| match largest(conv, |axis| axis.input) {
        ..=1 => "all 1",
        2..=4 => "up to 4",
        5.. => "larger",
    };
    "kernel" ["all 1", "some 1", "none 1"] by
        |conv| match conv.axes.iter().filter(|axis| axis.kernel == 1).count() {
            0 => "none 1",
            ones if ones == conv.axes.len() => "all 1",
            _ => "some 1",
        };
    "kernel and stride" ["kernel below stride", "kernel at least stride"] by
        |conv| if conv.axes.iter().any(|axis| axis.kernel < axis.stride) {
            "kernel below stride"
        } else {
            "kernel at least stride"
        };
    "largest stride" ["1", "2", "3", "4"] by |conv| number(largest(conv, |axis| axis.stride));
    "largest dilation" ["1", "2", "3"] by |conv| number(largest(conv, |axis| axis.dilation));
    "pads" ["absent", "zero", "symmetric", "asymmetric"] by |conv| match conv.window.pads {
        None => "absent",
        Some(pads) if pads.iter().all(|pad| *pad == 0) => "zero",
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
    "total padding" ["none", "even", "odd on an axis"] by |conv| total_padding(&conv.axes);
    "output_shape" ["absent", "written"] by |conv| written(conv.window.output_shape.is_some());
    "output_padding" ["absent", "zero", "below stride", "at least stride"] by |conv| output_padding(conv);
    "kernel_shape" ["absent", "written"] by |conv| written(conv.window.kernel_shape.is_some());
    "strides" ["absent", "default written", "needed"] by |conv| need(conv.window.strides);
    "dilations" ["absent", "default written", "needed"] by |conv| need(conv.window.dilations);
    "group attribute" ["absent", "default written", "needed"] by |conv| match conv.window.group {
        None => "absent",
        Some(1) => "default written",
        Some(_) => "needed",
    };
    "weights" ["graph input", "initializer", "Constant", "Identity", "Add", "DequantizeLinear", "QuantizeLinear"] by |conv| source(conv, 1);
    "bias" ["absent", "empty name", "graph input", "initializer", "Constant", "Identity", "Add", "DequantizeLinear"] by |conv| source(conv, 2);
    "integers of the input" ["none", "INT8", "UINT8"] by |conv| integers(conv, 0);
    "zero point of the input" ["none", "absent", "zero", "other"] by |conv| zero_point(conv, 0);
    "integers of the weights" ["none", "INT8", "UINT8"] by |conv| integers(conv, 1);
    "zero point of the weights" ["none", "absent", "zero", "other"] by |conv| zero_point(conv, 1);
    "scales of the weights" ["none", "one", "outputs", "inputs", "kernel"] by |conv| scales(conv);
    "axis of the weights" ["none", "absent", "negative", "0", "1", "more"] by |conv| match conv.quantization(1) {
        None => "none",
        Some(quantization) => match quantization.axis {
            None => "absent",
            Some(..0) => "negative",
            Some(0) => "0",
            Some(1) => "1",
            Some(2..) => "more",
        },
    };
    "ways of the graph" ["one", "Add", "Concat", "MaxPool"] by |conv| ways(conv);
    "quantized at an Add" ["no such Add", "neither", "one", "both"] by |conv| quantized_at_add(conv);
    "quantizers of one value" ["one at most", "several"] by |conv| conv.quantizers_of_one_value();
    "place" ["alone", "first", "between", "last"] by |conv| match conv.place {
        (_, 1) => "alone",
        (0, _) => "first",
        (place, count) if place + 1 == count => "last",
        _ => "between",
    };
    "before" ["graph input", "Relu", "Add", "BatchNormalization", "MaxPool", "Concat", "convolution", "DequantizeLinear"] by
        |conv| conv.graph.producer(conv.unquantized(&conv.node.inputs[0])).map_or("graph input", operator);
    "after" [
        "graph output", "Relu", "Add", "BatchNormalization", "MaxPool", "Concat", "QuantizeLinear", "convolution"
    ] by |conv| conv.graph.readers(&conv.node.outputs[0]).next().map_or("graph output", operator);
    "output of the graph" ["numbers", "dequantized", "INT8", "UINT8"] by |conv| {
        let output = conv.graph.outputs.first();
        let last = output.and_then(|output| conv.graph.producer(&output.name)).map(|node| &node.op);
        match (last, output.map(|output| output.dtype)) {
            (Some(Op::DequantizeLinear(_)), _) => "dequantized",
            (_, Some(DataType::Int8)) => "INT8",
            (_, Some(DataType::Uint8)) => "UINT8",
            _ => "numbers",
        }
    };
    "input of the graph" ["numbers", "INT8", "UINT8"] by
        |conv| match conv.graph.inputs.first().map(|input| input.dtype) {
            Some(DataType::Int8) => "INT8",
            Some(DataType::Uint8) => "UINT8",
            _ => "numbers",
        };
    "dynamic axes" ["none", "batch", "spatial", "batch and spatial"] by |conv| dynamic_axes(conv);
    "runs" ["1", "2", "3"] by |conv| number(conv.case.runs.len());
    "shapes of the runs" ["one", "several"] by |conv| {
        let shape = |run: usize| conv.case.runs[run].inputs[0].shape();
        if (1..conv.case.runs.len()).all(|run| shape(run) == shape(0)) { "one" } else { "several" }
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
        _ => "others",
    }
}

const fn written(written: bool) -> &'static str {
    if written { "written" } else { "absent" }
}

fn largest(conv: &CoveredConvolution, of: impl Fn(&Axis) -> usize) -> usize {
    conv.axes.iter().map(of).max().unwrap_or(0)
}

fn need(entries: Option<&[i64]>) -> &'static str {
    match entries {
        None => "absent",
        Some(entries) if entries.iter().all(|entry| *entry == 1) => "default written",
        Some(_) => "needed",
    }
}

fn total_padding(axes: &[Axis]) -> &'static str {
    let total = |axis: &Axis| axis.pad_begin as isize + axis.pad_end;
    if axes.iter().any(|axis| total(axis) % 2 != 0) {
        "odd on an axis"
    } else if axes.iter().any(|axis| total(axis) != 0) {
        "even"
    } else {
        "none"
    }
}

fn output_padding(conv: &CoveredConvolution) -> &'static str {
    if conv.window.output_padding.is_none() {
        "absent"
    } else if conv.axes.iter().all(|axis| axis.output_padding == 0) {
        "zero"
    } else if conv.axes.iter().all(|axis| axis.output_padding < axis.stride) {
        "below stride"
    } else {
        "at least stride"
    }
}

fn source(conv: &CoveredConvolution, input: usize) -> &'static str {
    match conv.node.inputs.get(input).map(String::as_str) {
        None => "absent",
        Some("") => "empty name",
        Some(name) if is_rounded(conv.graph, name) => "QuantizeLinear",
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
        None => "none",
        Some(DataType::Uint8) => "UINT8",
        Some(_) => "INT8",
    }
}

fn zero_point(conv: &CoveredConvolution, input: usize) -> &'static str {
    match conv.quantization(input).map(|quantization| quantization.zero_point) {
        None => "none",
        Some(None) => "absent",
        Some(Some(zero_point)) if zero_point.to_f64().iter().all(|zero_point| *zero_point == 0.0) => "zero",
        Some(Some(_)) => "other",
    }
}

fn scales(conv: &CoveredConvolution) -> &'static str {
    let Some(quantization) = conv.quantization(1) else { return "none" };
    if quantization.scales == 1 {
        return "one";
    }
    let rank = conv.axes.len() as i64 + 2;
    let outputs = conv.window.output_channel_axis() as i64;
    match quantization.axis.unwrap_or(1).rem_euclid(rank) {
        axis if axis == outputs => "outputs",
        axis if axis < 2 => "inputs",
        _ => "kernel",
    }
}

fn ways(conv: &CoveredConvolution) -> &'static str {
    let nodes = &conv.graph.nodes;
    if nodes.iter().any(|node| matches!(node.op, Op::MaxPool(_))) {
        "MaxPool"
    } else if nodes.iter().any(|node| matches!(node.op, Op::Concat(_))) {
        "Concat"
    } else if nodes.iter().any(|node| conv.joined(node).is_some()) {
        "Add"
    } else {
        "one"
    }
}

fn quantized_at_add(conv: &CoveredConvolution) -> &'static str {
    let joined = conv.graph.nodes.iter().find_map(|node| conv.joined(node));
    let quantized =
        |names: &[String]| names.iter().filter(|name| conv.unquantized(name) != name.as_str()).count();
    match joined.map(quantized) {
        None => "no such Add",
        Some(0) => "neither",
        Some(1) => "one",
        Some(_) => "both",
    }
}

const fn operator(node: &Node) -> &'static str {
    match node.op {
        Op::Relu => "Relu",
        Op::Add => "Add",
        Op::Identity => "Identity",
        Op::BatchNormalization(_) => "BatchNormalization",
        Op::Concat(_) => "Concat",
        Op::Constant(_) => "Constant",
        Op::MaxPool(_) => "MaxPool",
        Op::QuantizeLinear(_) => "QuantizeLinear",
        Op::DequantizeLinear(_) => "DequantizeLinear",
        _ if node.op.is_convolution() => "convolution",
        _ => "another operator",
    }
}

fn dynamic_axes(conv: &CoveredConvolution) -> &'static str {
    let dims = conv.graph.inputs.first().and_then(|input| input.shape.as_deref()).unwrap_or_default();
    let dynamic = |dim: &Dim| matches!(dim, Dim::Symbolic(_));
    match (dims.first().is_some_and(dynamic), dims.iter().skip(2).any(dynamic)) {
        (false, false) => "none",
        (true, false) => "batch",
        (false, true) => "spatial",
        (true, true) => "batch and spatial",
    }
}
