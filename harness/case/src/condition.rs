use serde::{Deserialize, Serialize};
use twinfer_onnx::{AutoPad, DataType, Dim, Graph, Node, Op, Tensor, Window};

use crate::quantizer::{
    Quantizer, has_any_quantized_operand, has_float_bias, has_float_weights, has_quantized_operands,
    is_between_quantizers, is_requantized_alike, is_requantized_as_other_type, kernel,
    kernel_scales_off_output_channels,
};

/// A property of a graph's nodes, as data, so that external backends can state their limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Both hold for one node, or one for a node and the other for the whole graph.
    All(Vec<Self>),
    /// At least one holds.
    Any(Vec<Self>),
    /// It does not hold for the node.
    Not(Box<Self>),
    /// A node has this ONNX operator type.
    Operator(String),
    /// The node's kernel has this many spatial axes.
    SpatialRank(usize),
    /// Some dilation is above 1.
    Dilated,
    /// Some stride is above 1.
    Strided,
    /// Some stride is above 1 while some dilation is above 1.
    StridedAndDilated,
    /// `auto_pad` is `SAME_UPPER` or `SAME_LOWER`.
    AutoPadSame,
    /// Some `output_padding` is at least the stride of its axis.
    OutputPaddingAtLeastStride,
    /// Some `output_padding` is above zero.
    OutputPadding,
    /// The attribute `output_shape` is present.
    OutputShape,
    /// The node does not have the attribute of this name.
    AttributeAbsent(String),
    /// Some pad is negative.
    NegativePads,
    /// Some pad is at least the extent of the dilated kernel on its axis.
    PadsAtLeastKernel,
    /// The attribute `group` is above 1.
    Grouped,
    /// The weights are not an initializer.
    ComputedWeights,
    /// The graph has a value of this type.
    Dtype(DataType),
    /// The graph's opset is above this one.
    OpsetAbove(i64),
    /// The graph's opset is below this one.
    OpsetBelow(i64),
    /// The graph has a symbolic extent.
    DynamicShape,
    /// The graph has a symbolic extent other than the first of an input, which is the batch.
    DynamicSpatialShape,
    /// A quantizer's zero point is not 0.
    NonzeroZeroPoint,
    /// A quantizer has no zero point.
    AbsentZeroPoint,
    /// A quantizer's zero point is not an initializer.
    ComputedZeroPoint,
    /// A quantizer's scale is not an initializer.
    ComputedScale,
    /// A quantizer reads or writes this type; without a zero point, `QuantizeLinear` writes `UINT8`.
    QuantizedAs(DataType),
    /// A `DequantizeLinear` reads a graph input or an initializer of this type.
    StoredAs(DataType),
    /// A quantizer of something other than an initializer has a scale for each index of an axis.
    PerAxisActivation,
    /// The data and the weights of a convolution are outputs of a `DequantizeLinear`.
    QuantizedOperands,
    /// The data or the weights of a convolution, or both, are an output of a `DequantizeLinear`.
    AnyQuantizedOperand,
    /// The number of channels that a group reads, or that it writes, is not a multiple of this.
    ChannelsPerGroupNotMultipleOf(usize),
    /// The kernel is quantized with a scale for each index of an axis other than the output channels, which are the first
    /// axis of a convolution's kernel and the second of a deconvolution's.
    KernelScalesOffOutputChannels,
    /// There is a bias that is not an output of a `DequantizeLinear`.
    FloatBias,
    /// The bias is an output of an `Add`.
    AddedBias,
    /// The convolution has one output channel.
    OneOutputChannel,
    /// The data is an output of a `DequantizeLinear`, and the weights are floats that depend on no input of the graph and are no output of a
    /// `DequantizeLinear`.
    FloatWeights,
    /// The data was quantized to one type and the result is quantized to another.
    RequantizedAsOtherType,
    /// The data are outputs of `DequantizeLinear`, each of another quantized value that depends on an input of the graph, and one `QuantizeLinear` alone
    /// reads the result, all of them with a scale and a zero point that are constant scalars.
    BetweenQuantizers,
    /// The node is between quantizers, and all of them have the same scale, zero point and type.
    RequantizedAlike,
    /// The input of the node at this place, from 0, is a constant of this type, or an Identity of one.
    ConstantOfType(usize, DataType),
    /// The input of the node at this place, from 0, is a constant of more than one element, or an Identity of one.
    ConstantOfSeveral(usize),
}

impl Condition {
    /// Whether the condition is one that holds for every graph, `{"all": []}`, so that it predicts nothing.
    pub const fn is_vacuous(&self) -> bool {
        matches!(self, Self::All(conditions) if conditions.is_empty())
    }

    /// Whether the condition holds for some node of `graph`.
    pub fn holds(&self, graph: &Graph) -> bool {
        graph.nodes.iter().any(|node| self.holds_at(graph, node))
    }

    /// Whether the condition holds for `node` of `graph`.
    pub fn holds_at(&self, graph: &Graph, node: &Node) -> bool {
        let window = || node.op.window();
        let attributes = || match &node.op {
            Op::ConvInteger(op) | Op::QLinearConv(op) => Some(op.window()),
            _ => window(),
        };
        let constant = |input: &usize| node.input(*input).and_then(|name| constant(graph, name));
        let quantizer = || Quantizer::of(graph, node);
        match self {
            Self::All(conditions) => conditions.iter().all(|condition| condition.holds_at(graph, node)),
            Self::Any(conditions) => conditions.iter().any(|condition| condition.holds_at(graph, node)),
            Self::Not(condition) => !condition.holds_at(graph, node),
            Self::Operator(name) => node.op.op_type() == name,
            Self::SpatialRank(rank) => {
                attributes().is_some()
                    && weight_rank(graph, node).and_then(|all| all.checked_sub(2)) == Some(*rank)
            }
            Self::Dilated => {
                attributes().is_some_and(|window| window.is_dilated()) || is_dilated_pool(&node.op)
            }
            Self::Strided => window().is_some_and(|window| window.is_strided()),
            Self::StridedAndDilated => {
                window().is_some_and(|window| window.is_strided() && window.is_dilated())
            }
            Self::AutoPadSame => attributes()
                .map_or_else(|| pool_auto_pad(&node.op), |window| window.auto_pad)
                .is_some_and(AutoPad::is_same),
            Self::OutputPaddingAtLeastStride => window().as_ref().is_some_and(pads_output_by_a_stride),
            Self::OutputPadding => window().is_some_and(|window| window.has_output_padding()),
            Self::OutputShape => window().is_some_and(|window| window.output_shape.is_some()),
            Self::AttributeAbsent(name) => {
                node.op.written_attributes().iter().all(|attribute| attribute.name != *name)
            }
            Self::NegativePads => {
                window().is_some_and(|window| window.pads.into_iter().flatten().any(|&pad| pad < 0))
            }
            Self::PadsAtLeastKernel => {
                let kernel = kernel_shape(graph, node);
                window().zip(kernel).is_some_and(|(window, kernel)| pads_by_a_kernel(&window, kernel))
            }
            Self::Grouped => window().is_some_and(|window| window.group() > 1),
            Self::ComputedWeights => window().is_some() && has_computed_weights(graph, node),
            Self::Dtype(dtype) => uses_dtype(graph, *dtype),
            Self::OpsetAbove(opset) => graph.opset > *opset,
            Self::OpsetBelow(opset) => graph.opset < *opset,
            Self::DynamicShape => has_symbolic_extent(graph, 0),
            Self::DynamicSpatialShape => has_symbolic_extent(graph, 1),
            Self::NonzeroZeroPoint => quantizer().is_some_and(|quantizer| quantizer.has_nonzero_zero_point()),
            Self::AbsentZeroPoint => quantizer().is_some_and(|quantizer| !quantizer.has_zero_point()),
            Self::ComputedZeroPoint => {
                quantizer().is_some_and(|quantizer| quantizer.has_computed_zero_point())
            }
            Self::ComputedScale => quantizer().is_some_and(|quantizer| quantizer.scale.is_none()),
            Self::QuantizedAs(dtype) => {
                quantizer().is_some_and(|quantizer| quantizer.quantized_type() == Some(*dtype))
            }
            Self::StoredAs(dtype) => {
                quantizer().is_some_and(|quantizer| quantizer.stored_type() == Some(*dtype))
            }
            Self::PerAxisActivation => {
                quantizer().is_some_and(|quantizer| quantizer.is_per_axis() && quantizer.origin().is_none())
            }
            Self::QuantizedOperands => window().is_some() && has_quantized_operands(graph, node),
            Self::AnyQuantizedOperand => window().is_some() && has_any_quantized_operand(graph, node),
            Self::ChannelsPerGroupNotMultipleOf(count) => window()
                .and_then(|window| window.channels(&kernel(graph, node)?.shape))
                .is_some_and(|channels| {
                    !channels.inputs.is_multiple_of(*count) || !channels.outputs.is_multiple_of(*count)
                }),
            Self::KernelScalesOffOutputChannels => {
                window().is_some() && kernel_scales_off_output_channels(graph, node)
            }
            Self::RequantizedAsOtherType => is_requantized_as_other_type(graph, node),
            Self::BetweenQuantizers => is_between_quantizers(graph, node),
            Self::RequantizedAlike => is_requantized_alike(graph, node),
            Self::ConstantOfType(input, dtype) => {
                constant(input).is_some_and(|tensor| tensor.dtype() == *dtype)
            }
            Self::ConstantOfSeveral(input) => constant(input).is_some_and(|tensor| tensor.len() > 1),
            Self::FloatWeights => window().is_some() && has_float_weights(graph, node),
            Self::AddedBias => window().is_some() && has_added_bias(graph, node),
            Self::OneOutputChannel => window()
                .and_then(|window| window.output_channels(&kernel(graph, node)?.shape))
                .is_some_and(|channels| channels == 1),
            Self::FloatBias => window().is_some() && has_float_bias(graph, node),
        }
    }
}

/// Whether some `output_padding` is at least the stride of its axis.
fn pads_output_by_a_stride(window: &Window) -> bool {
    let mut entries = window.output_padding.into_iter().flatten().enumerate();
    entries.any(|(axis, &pad)| pad > 0 && pad >= window.stride(axis))
}

/// Whether some pad is at least the extent of the dilated kernel on its axis.
fn pads_by_a_kernel(window: &Window, kernel: &[usize]) -> bool {
    window.pads.into_iter().flatten().enumerate().any(|(index, &pad)| {
        let axis = index % kernel.len().max(1);
        kernel.get(axis).is_some_and(|&extent| pad > window.dilation(axis).saturating_mul(extent as i64 - 1))
    })
}

fn has_added_bias(graph: &Graph, node: &Node) -> bool {
    let bias = node.input(2).and_then(|name| graph.producer(name));
    bias.is_some_and(|producer| matches!(producer.op, Op::Add))
}

fn kernel_shape<'a>(graph: &'a Graph, node: &'a Node) -> Option<&'a [usize]> {
    kernel(graph, node).and_then(|tensor| tensor.shape.get(2..))
}

fn is_dilated_pool(op: &Op) -> bool {
    let dilations = match op {
        Op::AveragePool(op) => op.dilations.as_deref(),
        Op::MaxPool(op) => op.dilations.as_deref(),
        _ => None,
    };
    dilations.is_some_and(|dilations| dilations.iter().any(|dilation| *dilation > 1))
}

const fn pool_auto_pad(op: &Op) -> Option<AutoPad> {
    match op {
        Op::AveragePool(op) => op.auto_pad,
        Op::MaxPool(op) => op.auto_pad,
        _ => None,
    }
}

/// A constant, or what an Identity gives of one.
fn constant<'a>(graph: &'a Graph, name: &'a str) -> Option<&'a Tensor> {
    let identity = || graph.producer(name).filter(|node| matches!(node.op, Op::Identity));
    graph.initializer(name).or_else(|| graph.initializer(identity()?.input(0)?))
}

fn has_computed_weights(graph: &Graph, node: &Node) -> bool {
    node.input(1).is_some_and(|name| graph.initializer(name).is_none())
}

/// The rank of the weights, or of the data if the weights are computed.
fn weight_rank(graph: &Graph, node: &Node) -> Option<usize> {
    if let Some(tensor) = kernel(graph, node) {
        return Some(tensor.shape.len());
    }
    let input = graph.input(node.input(0)?).or_else(|| graph.inputs.first())?;
    input.shape.as_ref().map(Vec::len)
}

fn uses_dtype(graph: &Graph, dtype: DataType) -> bool {
    graph.inputs.iter().chain(&graph.outputs).any(|value| value.dtype == dtype)
        || graph.initializers.iter().any(|initializer| initializer.tensor.data.dtype() == dtype)
}

/// Whether an input has a symbolic extent at axis `from` or a later one.
fn has_symbolic_extent(graph: &Graph, from: usize) -> bool {
    let symbolic = |dim: &Dim| matches!(dim, Dim::Symbolic(_));
    graph
        .inputs
        .iter()
        .any(|input| input.shape.as_ref().is_none_or(|shape| shape.iter().skip(from).any(symbolic)))
}
