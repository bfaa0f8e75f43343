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
        |site| if site.attributes.transposed { "ConvTranspose" } else { "Conv" };
    "spatial axes" ["1", "2", "3"] by |site| number(site.axes.len());
    "element type" ["FLOAT", "FLOAT16"] by |site| match site.case.request.precision {
        DataType::Float16 => "FLOAT16",
        _ => "FLOAT",
    };
    "opset" ["11 to 12", "13", "14", "15 to 21", "22 to newest"] by |site| match site.case.graph.opset {
        ..=12 => "11 to 12",
        13 => "13",
        14 => "14",
        15..=21 => "15 to 21",
        22.. => "22 to newest",
    };
    "values" ["exact", "gaussian", "wide-range", "denormal", "saturating"] by |site| match site.regime() {
        Some(Regime::Exact { .. }) => "exact",
        Some(Regime::WideRange) => "wide-range",
        Some(Regime::Denormal) => "denormal",
        Some(Regime::Saturating) => "saturating",
        Some(Regime::Gaussian) | None => "gaussian",
    };
    "batch" ["0", "1", "2", "3"] by |site| number(site.batch);
    "group" ["1", "several", "depthwise"] by |site| match (site.group, site.channels.0) {
        (1, _) => "1",
        (_, 1) => "depthwise",
        _ => "several",
    };
    "input channels of a group" ["1", "2", "3", "4", "5 or more"] by |site| channels(site.channels.0);
    "output channels of a group" ["1", "2", "3", "4", "5 or more"] by |site| channels(site.channels.1);
    "channels in and out" ["equal", "different"] by
        |site| if site.channels.0 == site.channels.1 { "equal" } else { "different" };
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
    "pads" ["absent", "zero", "symmetric", "asymmetric"] by |site| match site.attributes.pads {
        None => "absent",
        Some(pads) if pads.iter().all(|pad| *pad == 0) => "zero",
        Some(pads) if pads[..pads.len() / 2] == pads[pads.len() / 2..] => "symmetric",
        Some(_) => "asymmetric",
    };
    "auto_pad" ["absent", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] by
        |site| match site.attributes.auto_pad {
            None => "absent",
            Some(AutoPad::NotSet) => "NOTSET",
            Some(AutoPad::SameUpper) => "SAME_UPPER",
            Some(AutoPad::SameLower) => "SAME_LOWER",
            Some(AutoPad::Valid) => "VALID",
        };
    "total padding" ["none", "even", "odd on an axis"] by |site| total_padding(&site.axes);
    "output_shape" ["absent", "written"] by |site| written(site.attributes.output_shape.is_some());
    "output_padding" ["absent", "zero", "below stride", "at least stride"] by |site| output_padding(site);
    "kernel_shape" ["absent", "written"] by |site| written(site.attributes.kernel_shape.is_some());
    "strides" ["absent", "default written", "needed"] by |site| need(site.attributes.strides);
    "dilations" ["absent", "default written", "needed"] by |site| need(site.attributes.dilations);
    "group attribute" ["absent", "default written", "needed"] by |site| match site.attributes.group {
        None => "absent",
        Some(1) => "default written",
        Some(_) => "needed",
    };
    "weights" ["initializer", "Identity", "Add"] by |site| source(site, 1);
    "bias" ["absent", "empty name", "initializer", "Identity", "Add"] by |site| source(site, 2);
    "place" ["alone", "first", "between", "last"] by |site| match site.place {
        (_, 1) => "alone",
        (0, _) => "first",
        (place, count) if place + 1 == count => "last",
        _ => "between",
    };
    "before" ["graph input", "Relu", "Add", "BatchNormalization", "convolution"] by
        |site| site.producer(&site.node.inputs[0]).map_or("graph input", operator);
    "after" ["graph output", "Relu", "Add", "BatchNormalization", "convolution"] by
        |site| site.reader().map_or("graph output", operator);
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
        0..=4 => number(count),
        _ => "5 or more",
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
    if site.attributes.output_padding.is_none() {
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
        Some(name) => site.producer(name).map_or("initializer", operator),
    }
}

const fn operator(node: &Node) -> &'static str {
    match node.op {
        Op::Relu => "Relu",
        Op::Add => "Add",
        Op::Identity => "Identity",
        Op::BatchNormalization(_) => "BatchNormalization",
        Op::Conv(_) | Op::ConvTranspose(_) => "convolution",
        _ => "another operator",
    }
}

fn dynamic_axes(site: &Site) -> &'static str {
    let dims = site.case.graph.inputs.first().and_then(|input| input.shape.as_deref()).unwrap_or_default();
    let dynamic = |dim: &Dim| matches!(dim, Dim::Symbolic(_));
    match (dims.first().is_some_and(dynamic), dims.iter().skip(2).any(dynamic)) {
        (false, false) => "none",
        (true, false) => "batch",
        (false, true) => "spatial",
        (true, true) => "batch and spatial",
    }
}
