use twinfer_case::Regime;
use twinfer_onnx::{AutoPad, Axis, DataType, Dim, Node, Op};

use super::site::Site;

/// Something that a convolution of a case has exactly one value of.
#[derive(Debug)]
pub struct Attribute {
    pub name: &'static str,
    pub values: &'static [&'static str],
    pub of: fn(&Site) -> &'static str,
}

macro_rules! attributes {
    ($($name:literal $values:tt by $of:expr;)*) => {
        /// Every attribute, in the order of reports.
        pub const ATTRIBUTES: &[Attribute] = &[$(Attribute { name: $name, values: &$values, of: $of }),*];
    };
}

attributes! {
    "operator" ["Conv", "ConvTranspose"] by
        |site| if site.window.transposed { "ConvTranspose" } else { "Conv" };
    "spatial axes" ["1", "2", "3"] by |site| number(site.axes.len());
    "element type" ["FLOAT", "FLOAT16"] by |site| match site.case.request.precision {
        DataType::Float16 => "FLOAT16",
        _ => "FLOAT",
    };
    "opset" ["11 to 12", "13", "14", "15 to 21", "22 to newest"] by |site| match site.graph.opset {
        ..=12 => "11 to 12",
        13 => "13",
        14 => "14",
        15..=21 => "15 to 21",
        22.. => "22 to newest",
    };
    "values" ["exact", "gaussian", "wide-range", "denormal", "saturating", "integers"] by |site| match site.regime() {
        Some(Regime::Integers { .. }) => "integers",
        Some(Regime::Exact { .. }) => "exact",
        Some(Regime::WideRange) => "wide-range",
        Some(Regime::Denormal) => "denormal",
        Some(Regime::Saturating) => "saturating",
        Some(Regime::Gaussian) | None => "gaussian",
    };
    "batch" ["0", "1", "2", "3"] by |site| number(site.batch);
    "group" ["1", "several", "depthwise"] by |site| match (site.channels.group, site.channels.inputs) {
        (1, _) => "1",
        (_, 1) => "depthwise",
        _ => "several",
    };
    "input channels of a group" ["1", "2", "3", "4", "5", "8", "others"] by |site| channels(site.channels.inputs);
    "output channels of a group" ["1", "2", "3", "4", "5", "8", "others"] by |site| channels(site.channels.outputs);
    "channels in and out" ["equal", "different"] by
        |site| if site.channels.inputs == site.channels.outputs { "equal" } else { "different" };
    "input extents" ["all 1", "up to 4", "larger"] by |site| match largest(site, |axis| axis.input) {
        ..=1 => "all 1",
        2..=4 => "up to 4",
        5.. => "larger",
    };
    "kernel" ["all 1", "some 1", "none 1"] by
        |site| match site.axes.iter().filter(|axis| axis.kernel == 1).count() {
            0 => "none 1",
            ones if ones == site.axes.len() => "all 1",
            _ => "some 1",
        };
    "kernel and stride" ["kernel below stride", "kernel at least stride"] by
        |site| if site.axes.iter().any(|axis| axis.kernel < axis.stride) {
            "kernel below stride"
        } else {
            "kernel at least stride"
        };
    "largest stride" ["1", "2", "3", "4"] by |site| number(largest(site, |axis| axis.stride));
    "largest dilation" ["1", "2", "3"] by |site| number(largest(site, |axis| axis.dilation));
    "pads" ["absent", "zero", "symmetric", "asymmetric"] by |site| match site.window.pads {
        None => "absent",
        Some(pads) if pads.iter().all(|pad| *pad == 0) => "zero",
        Some(pads) if pads[..pads.len() / 2] == pads[pads.len() / 2..] => "symmetric",
        Some(_) => "asymmetric",
    };
    "auto_pad" ["absent", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] by
        |site| match site.window.auto_pad {
            None => "absent",
            Some(AutoPad::NotSet) => "NOTSET",
            Some(AutoPad::SameUpper) => "SAME_UPPER",
            Some(AutoPad::SameLower) => "SAME_LOWER",
            Some(AutoPad::Valid) => "VALID",
        };
    "total padding" ["none", "even", "odd on an axis"] by |site| total_padding(&site.axes);
    "output_shape" ["absent", "written"] by |site| written(site.window.output_shape.is_some());
    "output_padding" ["absent", "zero", "below stride", "at least stride"] by |site| output_padding(site);
    "kernel_shape" ["absent", "written"] by |site| written(site.window.kernel_shape.is_some());
    "strides" ["absent", "default written", "needed"] by |site| need(site.window.strides);
    "dilations" ["absent", "default written", "needed"] by |site| need(site.window.dilations);
    "group attribute" ["absent", "default written", "needed"] by |site| match site.window.group {
        None => "absent",
        Some(1) => "default written",
        Some(_) => "needed",
    };
    "weights" ["initializer", "Identity", "Add", "DequantizeLinear", "QuantizeLinear"] by |site| source(site, 1);
    "bias" ["absent", "empty name", "initializer", "Identity", "Add", "DequantizeLinear"] by |site| source(site, 2);
    "integers of the input" ["none", "INT8", "UINT8"] by |site| integers(site, 0);
    "zero point of the input" ["none", "absent", "zero", "other"] by |site| zero_point(site, 0);
    "integers of the weights" ["none", "INT8", "UINT8"] by |site| integers(site, 1);
    "zero point of the weights" ["none", "absent", "zero", "other"] by |site| zero_point(site, 1);
    "scales of the weights" ["none", "one", "outputs", "inputs", "kernel"] by |site| scales(site);
    "axis of the weights" ["none", "absent", "negative", "0", "1", "more"] by |site| match site.quantization(1) {
        None => "none",
        Some(quantization) => match quantization.axis {
            None => "absent",
            Some(..0) => "negative",
            Some(0) => "0",
            Some(1) => "1",
            Some(2..) => "more",
        },
    };
    "ways of the graph" ["one", "Add", "Concat", "MaxPool"] by |site| ways(site);
    "quantized at an Add" ["no such Add", "neither", "one", "both"] by |site| quantized_at_add(site);
    "quantizers of one value" ["one at most", "several"] by |site| site.quantizers_of_one_value();
    "place" ["alone", "first", "between", "last"] by |site| match site.place {
        (_, 1) => "alone",
        (0, _) => "first",
        (place, count) if place + 1 == count => "last",
        _ => "between",
    };
    "before" ["graph input", "Relu", "Add", "BatchNormalization", "MaxPool", "Concat", "convolution"] by
        |site| site.graph.producer(site.unquantized(&site.node.inputs[0])).map_or("graph input", operator);
    "after" [
        "graph output", "Relu", "Add", "BatchNormalization", "MaxPool", "Concat", "QuantizeLinear", "convolution"
    ] by |site| site.graph.readers(&site.node.outputs[0]).next().map_or("graph output", operator);
    "output of the graph" ["numbers", "dequantized", "INT8", "UINT8"] by |site| {
        let output = site.graph.outputs.first();
        let last = output.and_then(|output| site.graph.producer(&output.name)).map(|node| &node.op);
        match (last, output.map(|output| output.dtype)) {
            (Some(Op::DequantizeLinear(_)), _) => "dequantized",
            (_, Some(DataType::Int8)) => "INT8",
            (_, Some(DataType::Uint8)) => "UINT8",
            _ => "numbers",
        }
    };
    "input of the graph" ["numbers", "INT8", "UINT8"] by
        |site| match site.graph.inputs.first().map(|input| input.dtype) {
            Some(DataType::Int8) => "INT8",
            Some(DataType::Uint8) => "UINT8",
            _ => "numbers",
        };
    "dynamic axes" ["none", "batch", "spatial", "batch and spatial"] by |site| dynamic_axes(site);
    "runs" ["1", "2", "3"] by |site| number(site.case.runs.len());
    "shapes of the runs" ["one", "several"] by |site| {
        let shape = |run: usize| site.case.runs[run].inputs[0].shape();
        if (1..site.case.runs.len()).all(|run| shape(run) == shape(0)) { "one" } else { "several" }
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

fn largest(site: &Site, of: impl Fn(&Axis) -> usize) -> usize {
    site.axes.iter().map(of).max().unwrap_or(0)
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

fn output_padding(site: &Site) -> &'static str {
    if site.window.output_padding.is_none() {
        "absent"
    } else if site.axes.iter().all(|axis| axis.output_padding == 0) {
        "zero"
    } else if site.axes.iter().all(|axis| axis.output_padding < axis.stride) {
        "below stride"
    } else {
        "at least stride"
    }
}

fn source(site: &Site, input: usize) -> &'static str {
    match site.node.inputs.get(input).map(String::as_str) {
        None => "absent",
        Some("") => "empty name",
        Some(name) if site.unquantized(name) != name => "QuantizeLinear",
        Some(name) => site.graph.producer(name).map_or("initializer", operator),
    }
}

fn integers(site: &Site, input: usize) -> &'static str {
    match site.quantization(input).map(|quantization| quantization.dtype) {
        None => "none",
        Some(DataType::Uint8) => "UINT8",
        Some(_) => "INT8",
    }
}

fn zero_point(site: &Site, input: usize) -> &'static str {
    match site.quantization(input).map(|quantization| quantization.zero_point) {
        None => "none",
        Some(None) => "absent",
        Some(Some(zero_point)) if zero_point.to_f64().iter().all(|zero_point| *zero_point == 0.0) => "zero",
        Some(Some(_)) => "other",
    }
}

fn scales(site: &Site) -> &'static str {
    let Some(quantization) = site.quantization(1) else { return "none" };
    if quantization.scales == 1 {
        return "one";
    }
    let rank = site.axes.len() as i64 + 2;
    let outputs = site.window.output_channel_axis() as i64;
    match quantization.axis.unwrap_or(1).rem_euclid(rank) {
        axis if axis == outputs => "outputs",
        axis if axis < 2 => "inputs",
        _ => "kernel",
    }
}

fn ways(site: &Site) -> &'static str {
    let nodes = &site.graph.nodes;
    if nodes.iter().any(|node| matches!(node.op, Op::MaxPool(_))) {
        "MaxPool"
    } else if nodes.iter().any(|node| matches!(node.op, Op::Concat(_))) {
        "Concat"
    } else if nodes.iter().any(|node| site.joined(node).is_some()) {
        "Add"
    } else {
        "one"
    }
}

fn quantized_at_add(site: &Site) -> &'static str {
    let joined = site.graph.nodes.iter().find_map(|node| site.joined(node));
    let quantized =
        |names: &[String]| names.iter().filter(|name| site.unquantized(name) != name.as_str()).count();
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
        Op::MaxPool(_) => "MaxPool",
        Op::QuantizeLinear(_) => "QuantizeLinear",
        Op::DequantizeLinear(_) => "DequantizeLinear",
        _ if node.op.is_convolution() => "convolution",
        _ => "another operator",
    }
}

fn dynamic_axes(site: &Site) -> &'static str {
    let dims = site.graph.inputs.first().and_then(|input| input.shape.as_deref()).unwrap_or_default();
    let dynamic = |dim: &Dim| matches!(dim, Dim::Symbolic(_));
    match (dims.first().is_some_and(dynamic), dims.iter().skip(2).any(dynamic)) {
        (false, false) => "none",
        (true, false) => "batch",
        (false, true) => "spatial",
        (true, true) => "batch and spatial",
    }
}
