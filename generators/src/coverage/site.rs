use twinfer_case::{Case, Regime, TensorSource};
use twinfer_onnx::{
    AutoPad, Axis, Conv, ConvTranspose, DataType, DequantizeLinear, Node, Op, Tensor, ValueInfo, infer_shapes,
};

/// A convolution of a valid case, with what surrounds it.
pub struct Site<'a> {
    pub case: &'a Case,
    pub node: &'a Node,
    pub attributes: Attributes<'a>,
    /// Resolved for the first run.
    pub axes: Vec<Axis>,
    pub batch: usize,
    pub group: usize,
    /// Channels of a group, in and out.
    pub channels: (usize, usize),
    /// Its place among the convolutions, and how many there are.
    pub place: (usize, usize),
}

/// How a value is dequantized.
pub struct Quantization<'a> {
    pub axis: Option<i64>,
    pub dtype: DataType,
    pub zero_point: Option<&'a Tensor>,
    pub scales: usize,
}

/// The attributes of Conv and ConvTranspose under one roof.
pub struct Attributes<'a> {
    pub transposed: bool,
    pub auto_pad: Option<AutoPad>,
    pub dilations: Option<&'a [i64]>,
    pub group: Option<i64>,
    pub kernel_shape: Option<&'a [i64]>,
    pub output_padding: Option<&'a [i64]>,
    pub output_shape: Option<&'a [i64]>,
    pub pads: Option<&'a [i64]>,
    pub strides: Option<&'a [i64]>,
}

impl<'a> Site<'a> {
    /// The convolutions of a case, in order.
    pub fn all(case: &'a Case) -> Vec<Self> {
        let convolutions: Vec<_> =
            case.graph.nodes.iter().filter_map(|node| Some((node, Attributes::of(&node.op)?))).collect();
        let count = convolutions.len();
        let shapes: Vec<_> = case.runs[0].inputs.iter().map(|source| source.shape().to_vec()).collect();
        let Ok(inferred) = infer_shapes(&case.graph, &shapes) else {
            return vec![];
        };
        let site = |(place, (node, attributes)): (usize, (&'a Node, Attributes<'a>))| {
            let x = &inferred.get(&node.inputs[0])?.shape;
            let w = &inferred.get(&node.inputs[1])?.shape;
            let geometry = match &node.op {
                Op::Conv(conv) => conv.geometry(&x[2..], &w[2..]),
                Op::ConvTranspose(deconv) => deconv.geometry(&x[2..], &w[2..]),
                _ => return None,
            };
            let geometry = geometry.ok()?;
            let group = geometry.group;
            let channels = if attributes.transposed { (w[0] / group, w[1]) } else { (w[1], w[0] / group) };
            Some(Site {
                case,
                node,
                attributes,
                axes: geometry.axes,
                batch: x[0],
                group,
                channels,
                place: (place, count),
            })
        };
        convolutions.into_iter().enumerate().filter_map(site).collect()
    }

    pub fn producer(&self, name: &str) -> Option<&'a Node> {
        self.case.graph.nodes.iter().find(|node| node.outputs.iter().any(|output| output == name))
    }

    pub fn reader(&self, name: &str) -> Option<&'a Node> {
        self.readers(name).next()
    }

    fn readers(&self, name: &str) -> impl Iterator<Item = &'a Node> {
        self.case.graph.nodes.iter().filter(move |node| node.inputs.iter().any(|input| input == name))
    }

    /// What was quantized and dequantized to give a value; the value itself where nothing was.
    pub fn unquantized<'b>(&self, name: &'b str) -> &'b str
    where
        'a: 'b,
    {
        let integers = match self.producer(name) {
            Some(node) if matches!(node.op, Op::DequantizeLinear(_)) => &node.inputs[0],
            _ => return name,
        };
        match self.producer(integers) {
            Some(node) if matches!(node.op, Op::QuantizeLinear(_)) => self.unquantized(&node.inputs[0]),
            None if self.input(integers).is_some() => integers,
            _ => name,
        }
    }

    /// How an input of the convolution is dequantized, if it is.
    pub fn quantization(&self, input: usize) -> Option<Quantization<'a>> {
        let node = self.producer(self.node.inputs.get(input)?)?;
        let Op::DequantizeLinear(DequantizeLinear { axis }) = node.op else { return None };
        let zero_point = node.inputs.get(2).and_then(|name| self.initializer(name));
        let quantizer = self.producer(&node.inputs[0]);
        let dtype = match (zero_point, quantizer) {
            (Some(zero_point), _) => zero_point.dtype(),
            (None, Some(_)) => DataType::Uint8,
            (None, None) => {
                let stored = self.initializer(&node.inputs[0]).map(Tensor::dtype);
                stored.or_else(|| Some(self.input(&node.inputs[0])?.dtype))?
            }
        };
        Some(Quantization { axis, dtype, zero_point, scales: self.initializer(&node.inputs[1])?.len() })
    }

    fn input(&self, name: &str) -> Option<&'a ValueInfo> {
        self.case.graph.inputs.iter().find(|input| input.name == name)
    }

    fn initializer(&self, name: &str) -> Option<&'a Tensor> {
        let found = self.case.graph.initializers.iter().find(|initializer| initializer.name == name);
        found.map(|initializer| &initializer.tensor)
    }

    /// The inputs of an Add of two values that the graph computes from its input.
    pub fn joined(&self, node: &'a Node) -> Option<&'a [String]> {
        let computed = |name: &String| self.initializer(name).is_none() && !self.is_constant(name);
        let joins = matches!(node.op, Op::Add) && node.inputs.iter().all(computed);
        joins.then_some(node.inputs.as_slice())
    }

    fn is_constant(&self, name: &str) -> bool {
        self.producer(name)
            .is_some_and(|node| node.inputs.iter().all(|input| self.initializer(input).is_some()))
    }

    pub fn quantizers_of_one_value(&self) -> &'static str {
        let several = |node: &Node| {
            let quantizers =
                self.readers(&node.inputs[0]).filter(|node| matches!(node.op, Op::QuantizeLinear(_)));
            quantizers.count() > 1
        };
        let nodes = &self.case.graph.nodes;
        let quantizers = nodes.iter().filter(|node| matches!(node.op, Op::QuantizeLinear(_)));
        if quantizers.into_iter().any(several) { "several" } else { "one at most" }
    }

    pub fn regime(&self) -> Option<Regime> {
        match self.case.runs[0].inputs.first()? {
            TensorSource::Recipe(recipe) => Some(recipe.regime),
            TensorSource::Data(_) => None,
        }
    }
}

impl<'a> Attributes<'a> {
    fn of(op: &'a Op) -> Option<Self> {
        match op {
            Op::Conv(Conv { auto_pad, dilations, group, kernel_shape, pads, strides }) => Some(Self {
                transposed: false,
                auto_pad: *auto_pad,
                dilations: dilations.as_deref(),
                group: *group,
                kernel_shape: kernel_shape.as_deref(),
                output_padding: None,
                output_shape: None,
                pads: pads.as_deref(),
                strides: strides.as_deref(),
            }),
            Op::ConvTranspose(ConvTranspose {
                auto_pad,
                dilations,
                group,
                kernel_shape,
                output_padding,
                output_shape,
                pads,
                strides,
            }) => Some(Self {
                transposed: true,
                auto_pad: *auto_pad,
                dilations: dilations.as_deref(),
                group: *group,
                kernel_shape: kernel_shape.as_deref(),
                output_padding: output_padding.as_deref(),
                output_shape: output_shape.as_deref(),
                pads: pads.as_deref(),
                strides: strides.as_deref(),
            }),
            _ => None,
        }
    }
}
