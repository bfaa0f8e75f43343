use std::collections::HashSet;

use twinfer_onnx::{DataType, Graph, Node, Op, Tensor, TensorData};

/// The axis of per-axis scales if the attribute is absent.
const DEFAULT_AXIS: i64 = 1;

/// A `QuantizeLinear` or `DequantizeLinear` with what is known about it before the graph runs.
pub struct Quantizer<'a> {
    graph: &'a Graph,
    node: &'a Node,
    axis: Option<i64>,
    /// The scale; `None` if it is not an initializer.
    pub scale: Option<&'a Tensor>,
}

impl<'a> Quantizer<'a> {
    /// `node` as a quantizer; `None` if it is another operator.
    pub fn of(graph: &'a Graph, node: &'a Node) -> Option<Self> {
        let axis = match &node.op {
            Op::QuantizeLinear(op) => op.axis,
            Op::DequantizeLinear(op) => op.axis,
            _ => return None,
        };
        Some(Self { graph, node, axis, scale: initializer(graph, node, 1) })
    }

    pub fn has_nonzero_zero_point(&self) -> bool {
        match initializer(self.graph, self.node, 2).map(|tensor| &tensor.data) {
            Some(TensorData::Int8(values)) => values.iter().any(|&value| value != 0),
            Some(TensorData::Uint8(values)) => values.iter().any(|&value| value != 0),
            Some(TensorData::Int32(values)) => values.iter().any(|&value| value != 0),
            _ => false,
        }
    }

    pub fn has_computed_zero_point(&self) -> bool {
        self.has_zero_point() && initializer(self.graph, self.node, 2).is_none()
    }

    /// The type that the node quantizes to or from: that of its zero point, or of the tensor that it dequantizes.
    /// `QuantizeLinear` without a zero point gives `UINT8`.
    pub fn quantized_type(&self) -> Option<DataType> {
        match (&self.node.op, self.producer()) {
            (Op::DequantizeLinear(_), Some(producer)) => Self::of(self.graph, producer)?.stated_type(),
            (Op::DequantizeLinear(_), None) => self.stored_type(),
            _ => self.stated_type(),
        }
    }

    /// The type of the graph input or initializer that the node dequantizes.
    pub fn stored_type(&self) -> Option<DataType> {
        let is_stored = matches!(self.node.op, Op::DequantizeLinear(_)) && self.producer().is_none();
        let stored = is_stored.then(|| initializer(self.graph, self.node, 0).map(Tensor::dtype));
        stored?.or_else(|| self.fed_type())
    }

    /// The type of the zero point, or the default if there is none.
    fn stated_type(&self) -> Option<DataType> {
        match initializer(self.graph, self.node, 2) {
            Some(zero_point) => Some(zero_point.dtype()),
            None => (!self.has_zero_point()).then_some(DataType::Uint8),
        }
    }

    pub fn is_per_axis(&self) -> bool {
        self.scale.is_some_and(|scale| scale.len() > 1)
    }

    /// The axis of the scales in a tensor of this rank, counted from the front.
    fn axis(&self, rank: usize) -> Option<usize> {
        twinfer_onnx::resolve_axis(self.axis.unwrap_or(DEFAULT_AXIS), rank).ok()
    }

    /// The initializer at the start of the chain of quantizers that ends with the node.
    pub fn origin(&self) -> Option<&'a Tensor> {
        let mut node = self.node;
        // as many steps as there are nodes, in case they are no graph
        for _ in &self.graph.nodes {
            Self::of(self.graph, node)?;
            match producer(self.graph, node) {
                Some(before) => node = before,
                None => return initializer(self.graph, node, 0),
            }
        }
        None
    }

    pub fn has_zero_point(&self) -> bool {
        self.node.input(2).is_some()
    }

    /// The value that was quantized before the node dequantizes it, or the stored one that it dequantizes.
    fn quantized_value(&self) -> Option<&'a str> {
        let quantized = self.producer().filter(|producer| matches!(producer.op, Op::QuantizeLinear(_)));
        quantized.map_or_else(|| self.node.input(0), |quantizer| quantizer.input(0))
    }

    const fn quantizes(&self) -> bool {
        matches!(self.node.op, Op::QuantizeLinear(_))
    }

    /// Whether scale and zero point are constant scalars. A vector of one element is a scale along an axis, which backends do not all
    /// take for one of the whole tensor.
    fn is_of_scalars(&self) -> bool {
        self.scale.is_some_and(|scale| scale.shape.is_empty()) && !self.has_computed_zero_point()
    }

    /// Whether both have the same scale, zero point and type.
    fn is_like(&self, other: &Self) -> bool {
        self.scale.map(|scale| &scale.data) == other.scale.map(|scale| &scale.data)
            && self.quantized_type() == other.quantized_type()
            && self.zero_point() == other.zero_point()
    }

    fn zero_point(&self) -> Option<&'a TensorData> {
        initializer(self.graph, self.node, 2).map(|tensor| &tensor.data)
    }

    fn producer(&self) -> Option<&'a Node> {
        producer(self.graph, self.node)
    }

    fn fed_type(&self) -> Option<DataType> {
        self.graph.input(self.node.input(0)?).map(|input| input.dtype)
    }
}

/// The weights of a convolution, quantized or not; `None` if they are not an initializer.
pub fn kernel<'a>(graph: &'a Graph, node: &'a Node) -> Option<&'a Tensor> {
    operand(graph, node, 1).map_or_else(|| initializer(graph, node, 1), |quantizer| quantizer.origin())
}

/// Whether both data and weights are outputs of a `DequantizeLinear`.
pub fn has_quantized_operands(graph: &Graph, node: &Node) -> bool {
    [0, 1].into_iter().all(|index| operand(graph, node, index).is_some())
}

pub fn has_any_quantized_operand(graph: &Graph, node: &Node) -> bool {
    [0, 1].into_iter().any(|index| operand(graph, node, index).is_some())
}

pub fn has_float_bias(graph: &Graph, node: &Node) -> bool {
    node.input(2).is_some() && operand(graph, node, 2).is_none()
}

pub fn has_float_weights(graph: &Graph, node: &Node) -> bool {
    // weights have the type of the data, which is that of its scale
    let is_float = |data: Quantizer<'_>| data.scale.is_none_or(|scale| scale.dtype() == DataType::Float);
    operand(graph, node, 0).is_some_and(is_float)
        && operand(graph, node, 1).is_none()
        && node.input(1).is_some_and(|weights| !depends_on_input(graph, weights))
}

pub fn is_requantized_as_other_type(graph: &Graph, node: &Node) -> bool {
    let before: Vec<DataType> = data(graph, node).filter_map(|operand| operand?.quantized_type()).collect();
    let after = results(graph, node).filter_map(|quantizer| quantizer.quantized_type());
    after.into_iter().any(|after| before.iter().any(|before| *before != after))
}

/// Whether quantizers give all the data of a node, each of another value that depends on an input of the graph, and one reads its result, each with a scale
/// and a zero point that are constant scalars. What depends on no input is a constant, which backends compute beforehand, quantizers included.
pub fn is_between_quantizers(graph: &Graph, node: &Node) -> bool {
    quantizers_around(graph, node).is_some()
}

/// Whether a node is between quantizers that have the same scale, zero point and type.
pub fn is_requantized_alike(graph: &Graph, node: &Node) -> bool {
    let Some((before, after)) = quantizers_around(graph, node) else { return false };
    before.iter().all(|quantizer| quantizer.is_like(&after))
}

/// The quantizers that give the data of a node, each of another value, and the one that reads its result.
fn quantizers_around<'a>(graph: &'a Graph, node: &Node) -> Option<(Vec<Quantizer<'a>>, Quantizer<'a>)> {
    let before: Vec<_> = data(graph, node).collect::<Option<_>>()?;
    let result = node.outputs.first()?;
    let mut readers = graph.readers(result);
    let after = Quantizer::of(graph, readers.next()?).filter(Quantizer::quantizes)?;
    let is_read_once = readers.next().is_none() && graph.outputs.iter().all(|output| output.name != *result);
    let values: HashSet<_> = before.iter().map(Quantizer::quantized_value).collect();
    let are_constant = before.iter().chain([&after]).all(Quantizer::is_of_scalars);
    let are_fed = values.iter().all(|value| value.is_some_and(|value| depends_on_input(graph, value)));
    (values.len() == before.len() && is_read_once && are_constant && are_fed).then_some((before, after))
}

/// Whether a value is an input of the graph, or computed from one.
fn depends_on_input(graph: &Graph, value: &str) -> bool {
    let (mut seen, mut open) = (HashSet::from([value]), vec![value]);
    while let Some(value) = open.pop() {
        if graph.input(value).is_some() {
            return true;
        }
        let read = graph.producer(value).into_iter().flat_map(|producer| &producer.inputs);
        open.extend(read.map(String::as_str).filter(|read| seen.insert(read)));
    }
    false
}

/// For every operand that is data and no parameter, the `DequantizeLinear` that gives it, if one does.
fn data<'a>(graph: &'a Graph, node: &Node) -> impl Iterator<Item = Option<Quantizer<'a>>> {
    let count = if matches!(node.op, Op::Add | Op::Concat(_) | Op::Mul) { node.inputs.len() } else { 1 };
    (0..count).map(move |index| operand(graph, node, index))
}

/// The quantizers that read the result of a node as their data.
fn results<'a>(graph: &'a Graph, node: &Node) -> impl Iterator<Item = Quantizer<'a>> {
    let reads = |reader: &&Node| reader.inputs.first().is_some_and(|input| node.outputs.contains(input));
    graph.nodes.iter().filter(reads).filter_map(|reader| Quantizer::of(graph, reader))
}

/// Whether the kernel's scales lie along an axis other than the output channels.
pub fn kernel_scales_off_output_channels(graph: &Graph, node: &Node) -> bool {
    let Some(quantizer) = operand(graph, node, 1).filter(Quantizer::is_per_axis) else { return false };
    let Some(window) = node.op.window() else { return false };
    let rank = quantizer.origin().map_or(0, |tensor| tensor.shape.len());
    quantizer.axis(rank).is_some_and(|axis| axis != window.output_channel_axis())
}

/// The `DequantizeLinear` that gives an operand; `None` if another operator or none does.
fn operand<'a>(graph: &'a Graph, node: &Node, index: usize) -> Option<Quantizer<'a>> {
    let producer = graph.producer(node.input(index)?)?;
    matches!(producer.op, Op::DequantizeLinear(_)).then(|| Quantizer::of(graph, producer))?
}

/// The node that computes what `node` reads first; a Constant computes nothing.
fn producer<'a>(graph: &'a Graph, node: &Node) -> Option<&'a Node> {
    graph.producer(node.input(0)?).filter(|producer| !matches!(producer.op, Op::Constant(_)))
}

fn initializer<'a>(graph: &'a Graph, node: &Node, index: usize) -> Option<&'a Tensor> {
    graph.initializer(node.input(index)?)
}
