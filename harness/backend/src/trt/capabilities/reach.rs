//! How many of the quantised cases a release takes, and how many of those have what TensorRT 8 is known to fail on: a case
//! that a rule refuses tells a campaign nothing.

use std::fmt::Write as _;

use nvinfer::Version;
use twinfer_case::{Case, Description, Stage};
use twinfer_generators::Family;
use twinfer_onnx::{Graph, Node, Op, Tensor};

use super::{Reader, of};

const SEED: u64 = 31;
const CASES: usize = 500;

const QUANTIZED: [Family; 3] = [Family::QdqConv, Family::QdqDeconv, Family::Block];

const RELEASES: [(&str, u32, Reader); 5] = [
    ("TensorRT 8.5.3", 8503, Reader::Parser),
    ("TensorRT 8.6.0", 8600, Reader::Parser),
    ("TensorRT 10.16.0", 101_600, Reader::Parser),
    ("TensorRT-RTX 1.7.1", 10_701, Reader::Parser),
    ("TensorRT 8.6.0, layer by layer", 8600, Reader::Layers),
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
    let stream = family.stream(SEED);
    let mut refused = 0;
    let cases = (0..).map(|index| stream.case(index)).filter(|case| {
        let is_taken = description.refusal(&case.graph).is_none();
        refused += usize::from(!is_taken);
        is_taken
    });
    let taken = cases.take(count).collect();
    (taken, refused)
}

/// A convolution of int8 data and weights.
struct Site<'a> {
    graph: &'a Graph,
    node: &'a Node,
    /// The one that gives the weights.
    dequantizer: &'a Node,
    weights: &'a Tensor,
    group: usize,
    has_kernel_shape: bool,
}

impl<'a> Site<'a> {
    fn all(graph: &'a Graph) -> impl Iterator<Item = Self> {
        graph.nodes.iter().filter_map(move |node| Self::of(graph, node))
    }

    fn of(graph: &'a Graph, node: &'a Node) -> Option<Self> {
        let (group, kernel_shape) = match &node.op {
            Op::Conv(conv) => (conv.group, &conv.kernel_shape),
            Op::ConvTranspose(deconv) => (deconv.group, &deconv.kernel_shape),
            _ => return None,
        };
        let dequantizer = |input: usize| {
            producer(graph, &node.inputs[input]).filter(|node| matches!(node.op, Op::DequantizeLinear(_)))
        };
        dequantizer(0)?;
        let dequantizer = dequantizer(1)?;
        let stored =
            producer(graph, &dequantizer.inputs[0]).map_or(&dequantizer.inputs[0], |node| &node.inputs[0]);
        Some(Self {
            graph,
            node,
            dequantizer,
            weights: initializer(graph, stored)?,
            group: group.unwrap_or(1) as usize,
            has_kernel_shape: kernel_shape.is_some(),
        })
    }

    fn is_transposed(&self) -> bool {
        matches!(self.node.op, Op::ConvTranspose(_))
    }

    /// Input and output channels of a group.
    fn channels(&self) -> (usize, usize) {
        let (first, second) = (self.weights.shape[0] / self.group, self.weights.shape[1]);
        if self.is_transposed() { (first, second) } else { (second, first) }
    }

    /// How far the scales of the weights lie apart along axis 0; 1 where they do not.
    fn spread_along_axis_0(&self) -> f64 {
        let Op::DequantizeLinear(attributes) = &self.dequantizer.op else { return 1.0 };
        let axis = attributes.axis.unwrap_or(1).rem_euclid(self.weights.shape.len() as i64);
        let scales = initializer(self.graph, &self.dequantizer.inputs[1]).map_or(vec![], Tensor::to_f64);
        let (least, most) =
            scales.iter().fold((f64::MAX, 0.0_f64), |(a, b), scale| (a.min(*scale), b.max(*scale)));
        if axis == 0 && scales.len() > 1 { most / least } else { 1.0 }
    }

    fn is_rounded(&self) -> bool {
        producer(self.graph, &self.dequantizer.inputs[0]).is_some()
    }

    /// A deconvolution in one group with scales along axis 0, where another axis would be another number of scales.
    fn has_scales_of_inputs(&self) -> bool {
        let (inputs, outputs) = self.channels();
        self.is_transposed() && self.group == 1 && inputs != outputs && self.spread_along_axis_0() > 1.0
    }

    fn is_followed_by_quantizer(&self) -> bool {
        let mut readers = self.graph.nodes.iter().filter(|node| node.inputs.contains(&self.node.outputs[0]));
        readers.any(|node| matches!(node.op, Op::QuantizeLinear(_)))
    }
}

fn producer<'a>(graph: &'a Graph, name: &str) -> Option<&'a Node> {
    graph.nodes.iter().find(|node| node.outputs.iter().any(|output| output == name))
}

fn initializer<'a>(graph: &'a Graph, name: &str) -> Option<&'a Tensor> {
    let found = graph.initializers.iter().find(|initializer| initializer.name == *name);
    found.map(|initializer| &initializer.tensor)
}

type Feature = (&'static str, fn(&Site<'_>) -> bool);

const OF_CONVOLUTIONS: [Feature; 9] = [
    ("depthwise", |site| site.group > 1 && site.channels().0 == 1),
    ("depthwise, one output channel each", |site| site.group > 1 && site.channels() == (1, 1)),
    ("depthwise or grouped, weights through Q and DQ", |site| site.group > 1 && site.is_rounded()),
    ("grouped, 2 channels in or out of a group", |site| has_groups_of(site, 2)),
    ("grouped, 3", |site| has_groups_of(site, 3)),
    ("grouped, 4", |site| has_groups_of(site, 4)),
    ("grouped, 5", |site| has_groups_of(site, 5)),
    ("grouped, 8", |site| has_groups_of(site, 8)),
    ("no kernel_shape, weights through Q and DQ", |site| !site.has_kernel_shape && site.is_rounded()),
];

const OF_DECONVOLUTIONS: [Feature; 8] = [
    ("one group, scales along axis 0, other channels out than in", |site| site.has_scales_of_inputs()),
    ("the same, scales a decade apart or more", |site| {
        site.has_scales_of_inputs() && site.spread_along_axis_0() >= 10.0
    }),
    ("the same, both channel counts multiples of 4", |site| {
        let (inputs, outputs) = site.channels();
        site.has_scales_of_inputs() && inputs % 4 == 0 && outputs % 4 == 0
    }),
    ("the same, not both", |site| {
        let (inputs, outputs) = site.channels();
        site.has_scales_of_inputs() && (inputs % 4 != 0 || outputs % 4 != 0)
    }),
    ("the same, quantised behind it", |site| site.has_scales_of_inputs() && site.is_followed_by_quantizer()),
    ("the same, 64 channels to 10", |site| site.has_scales_of_inputs() && site.channels() == (64, 10)),
    ("grouped", |site| site.is_transposed() && site.group > 1),
    ("grouped, weights through Q and DQ", |site| site.is_transposed() && site.group > 1 && site.is_rounded()),
];

fn has_groups_of(site: &Site<'_>, channels: usize) -> bool {
    let (inputs, outputs) = site.channels();
    site.group > 1 && (inputs == channels || outputs == channels)
}

fn reach() -> String {
    let mut text = format!("cases drawn for {CASES} that no rule refuses\n");
    for (name, number, reader) in RELEASES {
        let drawn = QUANTIZED.map(|family| {
            let (taken, refused) = taken(family, &description(number, reader), CASES);
            format!("{family} {}", taken.len() + refused)
        });
        let _ = writeln!(text, "{name}: {}", drawn.join(", "));
    }
    let features: [(Family, &[Feature]); 2] =
        [(Family::QdqConv, &OF_CONVOLUTIONS), (Family::QdqDeconv, &OF_DECONVOLUTIONS)];
    for (family, features) in features {
        let (cases, _) = taken(family, &description(8600, Reader::Parser), CASES);
        let _ = writeln!(text, "\nof {CASES} cases of {family} that TensorRT 8.6.0 takes");
        for (name, is_there) in features {
            let count =
                cases.iter().filter(|case| Site::all(&case.graph).any(|site| is_there(&site))).count();
            let _ = writeln!(text, "{count:>4} {name}");
        }
    }
    text
}

#[test]
fn most_quantised_cases_are_taken_and_have_what_tensorrt_8_is_known_to_fail_on() {
    for family in QUANTIZED {
        let (_, refused) = taken(family, &description(8600, Reader::Parser), CASES);
        assert!(refused < CASES, "{family}: {refused} are refused before {CASES} are taken");
    }
    insta::assert_snapshot!(reach());
}
