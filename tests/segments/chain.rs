//! Chains of operators, with errors that can be planted in them.

use twinfer_case::{Case, Expectation, Recipe, Regime, Request, Run, TensorSource};
use twinfer_onnx::{
    BatchNormalization, Conv, ConvTranspose, DataType, DequantizeLinear, Dim, Graph, Initializer, Node, Op,
    QuantizeLinear, Tensor, TensorData, ValueInfo,
};

const CHANNELS: usize = 3;
const EXTENT: usize = 6;
/// Elements of the kernel of one channel.
const KERNEL: usize = 9;
/// The scale of quantized values, and that of quantized weights.
const ACTIVATION_SCALE: f32 = 0.031_25;
const WEIGHT_SCALE: f32 = 0.004;

/// What the links of a chain are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Links {
    /// Convolutions, each with an activation.
    Convolutions,
    /// Convolutions and transposed ones in turn, with normalizations and additions.
    Mixed,
    /// Convolutions between quantizers.
    Quantized,
}

/// A chain under construction.
struct Builder {
    graph: Graph,
    numbers: Numbers,
    /// The name of the last value.
    last: String,
}

/// Numbers that look drawn.
pub struct Numbers(u64);

impl Numbers {
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub const fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Between −1 and 1.
    const fn symmetric(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

impl Builder {
    fn constant(&mut self, name: String, tensor: Tensor) -> String {
        self.graph.initializers.push(Initializer { name: name.clone(), tensor });
        name
    }

    fn floats(&mut self, name: String, shape: &[usize], change: impl Fn(f32) -> f32) -> String {
        let values = (0..shape.iter().product()).map(|_| change(self.numbers.symmetric())).collect();
        self.constant(name, Tensor { shape: shape.to_vec(), data: TensorData::Float(values) })
    }

    fn scale(&mut self, name: String, value: f32) -> String {
        self.constant(name, Tensor { shape: vec![], data: TensorData::Float(vec![value]) })
    }

    fn zero_point(&mut self, name: String) -> String {
        self.constant(name, Tensor { shape: vec![], data: TensorData::Int8(vec![0]) })
    }

    fn node(&mut self, name: String, op: Op, others: Vec<String>) {
        let output = format!("{name}_out");
        let inputs = std::iter::once(self.last.clone()).chain(others).collect();
        self.graph.nodes.push(Node { name, op, inputs, outputs: vec![output.clone()] });
        self.last = output;
    }

    fn convolution(&mut self, link: usize, transposed: bool) {
        // as large as keeps the values of a deep chain within range
        let scale = (6.0 / (CHANNELS * KERNEL) as f32).sqrt();
        let shape = [CHANNELS, CHANNELS, 3, 3];
        let weights = self.floats(format!("w{link}"), &shape, |number| number * scale);
        let bias = self.floats(format!("b{link}"), &[CHANNELS], |number| number * 0.3);
        let pads = Some(vec![1, 1, 1, 1]);
        let op = if transposed {
            Op::ConvTranspose(ConvTranspose { pads, ..ConvTranspose::default() })
        } else {
            Op::Conv(Conv { pads, ..Conv::default() })
        };
        self.node(format!("conv{link}"), op, vec![weights, bias]);
    }

    fn relu(&mut self, link: usize) {
        self.node(format!("relu{link}"), Op::Relu, Vec::new());
    }

    fn normalization(&mut self, link: usize) {
        let scale = self.floats(format!("scale{link}"), &[CHANNELS], |number| 1.0 + number * 0.2);
        let bias = self.floats(format!("shift{link}"), &[CHANNELS], |number| number * 0.2);
        let mean = self.floats(format!("mean{link}"), &[CHANNELS], |number| number * 0.2);
        let variance = self.floats(format!("variance{link}"), &[CHANNELS], |number| 1.0 + number * 0.3);
        let op = Op::BatchNormalization(BatchNormalization::default());
        self.node(format!("norm{link}"), op, vec![scale, bias, mean, variance]);
    }

    fn quantizers(&mut self, place: usize) {
        let parameters =
            vec![self.scale(format!("s{place}"), ACTIVATION_SCALE), self.zero_point(format!("z{place}"))];
        let quantize = Op::QuantizeLinear(QuantizeLinear::default());
        self.node(format!("quantize{place}"), quantize, parameters.clone());
        let dequantize = Op::DequantizeLinear(DequantizeLinear::default());
        self.node(format!("dequantize{place}"), dequantize, parameters);
    }

    fn quantized_convolution(&mut self, link: usize) {
        let weights = (0..CHANNELS * CHANNELS * KERNEL).map(|_| (self.numbers.symmetric() * 127.0) as i8);
        let data = TensorData::Int8(weights.collect());
        let weights = Tensor { shape: vec![CHANNELS, CHANNELS, 3, 3], data };
        let weights = self.dequantized(&format!("w{link}"), weights, WEIGHT_SCALE);
        let bias_scale = ACTIVATION_SCALE * WEIGHT_SCALE;
        let bias = (0..CHANNELS).map(|_| (self.numbers.symmetric() * 0.5 / bias_scale) as i32);
        let bias = Tensor { shape: vec![CHANNELS], data: TensorData::Int32(bias.collect()) };
        let bias = self.dequantized(&format!("b{link}"), bias, bias_scale);
        let op = Op::Conv(Conv { pads: Some(vec![1, 1, 1, 1]), ..Conv::default() });
        self.node(format!("conv{link}"), op, vec![weights, bias]);
    }

    /// A constant that is stored as integers.
    fn dequantized(&mut self, name: &str, tensor: Tensor, scale: f32) -> String {
        let output = format!("{name}_dequantized");
        let inputs = vec![self.constant(name.to_owned(), tensor), self.scale(format!("{name}_scale"), scale)];
        self.graph.nodes.push(Node {
            name: format!("dequantize_{name}"),
            op: Op::DequantizeLinear(DequantizeLinear::default()),
            inputs,
            outputs: vec![output.clone()],
        });
        output
    }

    fn link(&mut self, links: Links, link: usize) {
        match links {
            Links::Convolutions => {
                self.convolution(link, false);
                self.relu(link);
            }
            Links::Mixed => {
                let skipped = self.last.clone();
                self.convolution(link, link % 3 == 1);
                if link.is_multiple_of(2) {
                    self.normalization(link);
                }
                if link % 4 == 3 {
                    self.node(format!("add{link}"), Op::Add, vec![skipped]);
                }
                self.relu(link);
            }
            Links::Quantized => {
                self.quantizers(2 * link);
                self.quantized_convolution(link);
                self.relu(link);
                self.quantizers(2 * link + 1);
            }
        }
    }
}

/// A chain of `depth` links.
pub fn chain(links: Links, depth: usize, seed: u64) -> Case {
    let shape = [1, CHANNELS, EXTENT, EXTENT];
    let value = |name: &str| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(shape.map(Dim::Fixed).to_vec()),
    };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x")],
        initializers: Vec::new(),
        nodes: Vec::new(),
        outputs: Vec::new(),
    };
    let mut builder = Builder { graph, numbers: Numbers::new(seed), last: "x".to_owned() };
    (0..depth).for_each(|link| builder.link(links, link));
    let output = value(&builder.last);
    builder.graph.outputs.push(output);
    let input = Recipe { dtype: DataType::Float, shape: shape.to_vec(), regime: Regime::Gaussian, seed };
    Case {
        graph: builder.graph,
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs: vec![TensorSource::Recipe(input)] }],
        expectation: Expectation::Valid,
        provenance: None,
    }
}

/// An error of a backend in one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    ZeroedBias,
    FlippedKernel,
    SwappedChannels,
    ChangedWeight,
}

impl Error {
    pub const ALL: [Self; 4] =
        [Self::ZeroedBias, Self::FlippedKernel, Self::SwappedChannels, Self::ChangedWeight];

    /// The graph as a backend computes it that makes this error in the convolution of link `link`; the graph as it is if it lacks
    /// that node.
    pub fn plant(self, mut graph: Graph, link: usize) -> Graph {
        let name = if self == Self::ZeroedBias { format!("b{link}") } else { format!("w{link}") };
        if let Some(tensor) = graph.initializer_mut(&name) {
            let mut values = tensor.to_f64();
            match self {
                Self::ZeroedBias => values.fill(0.0),
                Self::FlippedKernel => values.chunks_mut(KERNEL).for_each(<[f64]>::reverse),
                Self::SwappedChannels => values.rotate_left(KERNEL * CHANNELS),
                Self::ChangedWeight => values[4] = -values[4],
            }
            *tensor = Tensor::from_f64(tensor.dtype(), tensor.shape.clone(), &values).expect("same size");
        }
        graph
    }
}

/// The name of the value with which link `link` ends.
pub fn end(links: Links, link: usize) -> String {
    match links {
        Links::Convolutions | Links::Mixed => format!("relu{link}_out"),
        Links::Quantized => format!("dequantize{}_out", 2 * link + 1),
    }
}
