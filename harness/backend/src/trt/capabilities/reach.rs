//! How many of the quantized cases a release takes, and how many of those have what TensorRT 8 is known to fail on: a case
//! that a rule refuses is of no use to a campaign.

use nvinfer::Version;
use twinfer_case::{Case, Description, Outcome, Stage};
use twinfer_generators::{Distribution, Family};
use twinfer_onnx::{Channels, Graph, Node, Op, Tensor, Window};

use super::of;
use crate::trt::reader::Reader;

const SEED: u64 = 31;
const CASES: usize = 500;

/// About one in twenty-five; most are more frequent.
const LEAST: usize = 20;

const QUANTIZED: [Family; 3] = [Family::QdqConv, Family::QdqDeconv, Family::Block];

/// Releases, and of how many cases they take `CASES` at the least.
const RELEASES: [(&str, u32, Reader, usize); 5] = [
    ("TensorRT 8.5.3", 8503, Reader::Parser, 2 * CASES),
    ("TensorRT 8.6.0", 8600, Reader::Parser, 2 * CASES),
    ("TensorRT 10.16.0", 101_600, Reader::Parser, 2 * CASES),
    ("TensorRT-RTX 1.7.1", 10_701, Reader::Parser, 3 * CASES),
    ("TensorRT 8.6.0, layer by layer", 8600, Reader::Layers, 2 * CASES),
];

fn description(number: u32, reader: Reader) -> Description {
    let version = Version::from_number(number).expect("a release that the tables describe");
    let capabilities = of(version, reader, true);
    Description {
        capabilities,
        ..Description::new(version.product().to_string(), number.to_string(), Stage::Execute)
    }
}

/// The first cases of a family that no rule refuses, and how many were refused before there were as many.
fn taken(family: Family, description: &Description, count: usize) -> (Vec<Case>, usize) {
    let stream = family.stream(Distribution::Baseline, SEED);
    let mut refused = 0;
    let cases = (0..).map(|index| stream.case(index)).filter(|case| {
        let is_taken = description.refusals(&case.graph).next().is_none();
        refused += usize::from(!is_taken);
        is_taken
    });
    let taken = cases.take(count).collect();
    (taken, refused)
}

/// A convolution of int8 data and weights.
struct QuantizedConvolution<'a> {
    graph: &'a Graph,
    node: &'a Node,
    /// The one that gives the weights.
    dequantizer: &'a Node,
    weights: &'a Tensor,
    window: Window<'a>,
    channels: Channels,
}

impl<'a> QuantizedConvolution<'a> {
    fn all(graph: &'a Graph) -> impl Iterator<Item = Self> {
        graph.nodes.iter().filter_map(move |node| Self::of(graph, node))
    }

    fn of(graph: &'a Graph, node: &'a Node) -> Option<Self> {
        let window = node.op.window()?;
        let dequantizer = |input: usize| {
            graph.producer(&node.inputs[input]).filter(|node| matches!(node.op, Op::DequantizeLinear(_)))
        };
        dequantizer(0)?;
        let dequantizer = dequantizer(1)?;
        let stored =
            graph.producer(&dequantizer.inputs[0]).map_or(&dequantizer.inputs[0], |node| &node.inputs[0]);
        let weights = graph.initializer(stored)?;
        let channels = window.channels(&weights.shape)?;
        Some(Self { graph, node, dequantizer, weights, window, channels })
    }

    const fn is_transposed(&self) -> bool {
        self.window.transposed
    }

    const fn is_grouped(&self) -> bool {
        self.channels.group > 1
    }

    /// Input and output channels of a group.
    const fn channels(&self) -> (usize, usize) {
        (self.channels.inputs, self.channels.outputs)
    }

    /// How far the scales of the weights lie apart along axis 0; 1 where they do not.
    fn spread_along_axis_0(&self) -> f64 {
        let Op::DequantizeLinear(attributes) = &self.dequantizer.op else { return 1.0 };
        let axis = attributes.axis.unwrap_or(1).rem_euclid(self.weights.shape.len() as i64);
        let scales = self.graph.initializer(&self.dequantizer.inputs[1]).map_or(vec![], Tensor::to_f64);
        let (least, most) =
            scales.iter().fold((f64::MAX, 0.0_f64), |(a, b), scale| (a.min(*scale), b.max(*scale)));
        if axis == 0 && scales.len() > 1 { most / least } else { 1.0 }
    }

    fn is_rounded(&self) -> bool {
        self.graph.producer(&self.dequantizer.inputs[0]).is_some()
    }

    /// A deconvolution in one group with scales along axis 0, where another axis would be another number of scales.
    fn has_scales_of_inputs(&self) -> bool {
        let (inputs, outputs) = self.channels();
        self.is_transposed() && !self.is_grouped() && inputs != outputs && self.spread_along_axis_0() > 1.0
    }

    fn is_followed_by_quantizer(&self) -> bool {
        let mut readers = self.graph.readers(&self.node.outputs[0]);
        readers.any(|node| matches!(node.op, Op::QuantizeLinear(_)))
    }
}

type Feature = (&'static str, fn(&QuantizedConvolution<'_>) -> bool);

const OF_CONVOLUTIONS: [Feature; 9] = [
    ("depthwise", |conv| conv.is_grouped() && conv.channels().0 == 1),
    ("depthwise, one output channel each", |conv| conv.is_grouped() && conv.channels() == (1, 1)),
    ("depthwise or grouped, weights through Q and DQ", |conv| conv.is_grouped() && conv.is_rounded()),
    ("grouped, 2 channels in or out of a group", |conv| has_groups_of(conv, 2)),
    ("grouped, 3", |conv| has_groups_of(conv, 3)),
    ("grouped, 4", |conv| has_groups_of(conv, 4)),
    ("grouped, 5", |conv| has_groups_of(conv, 5)),
    ("grouped, 8", |conv| has_groups_of(conv, 8)),
    ("no kernel_shape, weights through Q and DQ", |conv| {
        conv.window.kernel_shape.is_none() && conv.is_rounded()
    }),
];

const OF_DECONVOLUTIONS: [Feature; 8] = [
    ("one group, scales along axis 0, other channels out than in", |conv| conv.has_scales_of_inputs()),
    ("the same, scales a decade apart or more", |conv| {
        conv.has_scales_of_inputs() && conv.spread_along_axis_0() >= 10.0
    }),
    ("the same, both channel counts multiples of 4", |conv| {
        let (inputs, outputs) = conv.channels();
        conv.has_scales_of_inputs() && inputs % 4 == 0 && outputs % 4 == 0
    }),
    ("the same, not both", |conv| {
        let (inputs, outputs) = conv.channels();
        conv.has_scales_of_inputs() && (inputs % 4 != 0 || outputs % 4 != 0)
    }),
    ("the same, quantized behind it", |conv| conv.has_scales_of_inputs() && conv.is_followed_by_quantizer()),
    ("the same, 64 channels to 10", |conv| conv.has_scales_of_inputs() && conv.channels() == (64, 10)),
    ("grouped", |conv| conv.is_transposed() && conv.is_grouped()),
    ("grouped, weights through Q and DQ", |conv| {
        conv.is_transposed() && conv.is_grouped() && conv.is_rounded()
    }),
];

fn has_groups_of(conv: &QuantizedConvolution<'_>, channels: usize) -> bool {
    let (inputs, outputs) = conv.channels();
    conv.is_grouped() && (inputs == channels || outputs == channels)
}

/// How many cases were drawn for `CASES` that no rule of a release refuses.
fn drawn(family: Family, number: u32, reader: Reader) -> usize {
    let (taken, refused) = taken(family, &description(number, reader), CASES);
    taken.len() + refused
}

#[test]
fn most_quantized_cases_are_taken() {
    for (name, number, reader, most) in RELEASES {
        let drawn = QUANTIZED.map(|family| (family, drawn(family, number, reader)));
        println!("{name}: of {drawn:?} {CASES} are taken");
        for (family, drawn) in drawn {
            assert!(drawn < most, "{name} takes {CASES} of {drawn} cases of {family}");
        }
    }
}

#[test]
fn cases_that_tensorrt_8_takes_have_what_it_is_known_to_fail_on() {
    let features: [(Family, &[Feature]); 2] =
        [(Family::QdqConv, &OF_CONVOLUTIONS), (Family::QdqDeconv, &OF_DECONVOLUTIONS)];
    for (family, features) in features {
        let (cases, _) = taken(family, &description(8600, Reader::Parser), CASES);
        for (name, is_there) in features {
            let has = |case: &&Case| QuantizedConvolution::all(&case.graph).any(|conv| is_there(&conv));
            let count = cases.iter().filter(has).count();
            println!("{count:>4} of {CASES} cases of {family}: {name}");
            assert!(count >= LEAST, "{count} of {CASES} cases of {family}: {name}");
        }
    }
}

#[test]
fn each_parser_refuses_stored_uint8_in_its_own_words() {
    for (number, words) in
        [(8503, "invalid"), (8600, "invalid"), (101_600, "unsupported"), (10_701, "unsupported")]
    {
        let capabilities = description(number, Reader::Parser).capabilities;
        let rule = capabilities.iter().find(|capability| capability.rule == "trt-no-uint8-dequantization");
        let refused = |words: &str| Outcome::rejected(format!("node 0: Found {words} input type of UINT8"));
        let shows = &rule.expect("no parser takes it").shows;
        assert!(
            shows.matches(Stage::Parse, &refused(words)) && !shows.matches(Stage::Parse, &refused("no")),
            "{number}"
        );
    }
}
