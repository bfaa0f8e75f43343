//! The nodes that a mutant may change.

use twinfer_onnx::{Graph, Node, Op, Window};

use crate::{Combination, Mutant, Nature, semantics::Semantics};

impl Combination {
    /// Whether every one of its mutants may change something in `graph`. If one does not, the others come to the same without it, so that it
    /// need not be evaluated.
    pub fn concerns(&self, graph: &Graph) -> bool {
        self.mutants.iter().all(|mutant| graph.nodes.iter().any(|node| mutant.concerns(node)))
    }
}

impl Mutant {
    /// Whether it may change what a node computes. With a mutant that concerns no node of a graph, golden's values stay as they are.
    pub fn concerns(self, node: &Node) -> bool {
        let op = &node.op;
        let attributes = Semantics::of(&[self]).attributes;
        if !attributes.is_empty() {
            let mut misread = op.clone();
            for change in attributes {
                change(&mut misread);
            }
            return misread != *op;
        }
        match self {
            Self::AddendDropped => matches!(op, Op::Add),
            Self::BiasAfterRequantization
            | Self::BiasDropped
            | Self::BiasInProductSteps
            | Self::BiasNotInGaps => has_bias(node),
            Self::BiasNotOnStrip => has_bias(node) && matches!(op, Op::ConvTranspose(_)),
            Self::BoundsInSevenDigits | Self::LowerBoundLast => matches!(op, Op::Clip),
            Self::ConcatWithOneScale => matches!(op, Op::Concat(_)),
            Self::DilationIgnored => window(op).is_some_and(|window| window.is_dilated()),
            Self::EpsilonIgnored | Self::NormalizedByInterleavedGroup => {
                matches!(op, Op::BatchNormalization(_))
            }
            Self::FloatWeightsQuantized | Self::PairsSaturated => is_convolution(op),
            Self::GroupsCollapsed | Self::GroupsDealt | Self::GroupsInterleaved => {
                window(op).is_some_and(|window| window.group() > 1)
            }
            Self::OutputPaddingIgnored | Self::OutputPaddingInFront => matches!(op, Op::ConvTranspose(_)),
            Self::PoolFromLowest | Self::PoolPaddingLowest | Self::PoolPaddingZero => {
                matches!(op, Op::MaxPool(_))
            }
            Self::ReluDropped => matches!(op, Op::Relu),
            Self::StrideShort => window(op).is_some_and(|window| window.is_strided()),
            Self::QuantizedAxesExchanged => matches!(op, Op::QuantizeLinear(_)),
            Self::NarrowRange
            | Self::QuantizedThroughInt32
            | Self::QuantizedThroughSaturatingInt32
            | Self::RoundedHalfAway
            | Self::Truncated
            | Self::Wrapped
            | Self::ZeroPointBeforeRounding => matches!(op, Op::QuantizeLinear(_) | Op::QLinearConv(_)),
            Self::ActivationZeroPointKept | Self::WeightZeroPointKept | Self::ZeroPointIgnored => {
                has_zero_point(node)
            }
            _ => match self.nature() {
                Nature::Convolution | Nature::Precision => is_convolution(op),
                Nature::Quantization => is_quantized(op),
                Nature::Attribute | Nature::Surroundings => true,
            },
        }
    }
}

const fn is_convolution(op: &Op) -> bool {
    matches!(op, Op::Conv(_) | Op::ConvInteger(_) | Op::ConvTranspose(_) | Op::QLinearConv(_))
}

/// Whether the operator reads or gives integers that stand for numbers.
const fn is_quantized(op: &Op) -> bool {
    matches!(op, Op::ConvInteger(_) | Op::DequantizeLinear(_) | Op::QLinearConv(_) | Op::QuantizeLinear(_))
}

/// Whether it may have a zero point that is not zero.
fn has_zero_point(node: &Node) -> bool {
    match node.op {
        Op::DequantizeLinear(_) | Op::QuantizeLinear(_) => has_input(node, 2),
        _ => is_quantized(&node.op),
    }
}

fn has_bias(node: &Node) -> bool {
    match node.op {
        Op::Conv(_) | Op::ConvTranspose(_) => has_input(node, 2),
        Op::QLinearConv(_) => has_input(node, 8),
        _ => false,
    }
}

fn has_input(node: &Node, place: usize) -> bool {
    node.inputs.get(place).is_some_and(|name| !name.is_empty())
}

/// The attributes of a convolution.
fn window(op: &Op) -> Option<Window<'_>> {
    match op {
        Op::ConvInteger(op) | Op::QLinearConv(op) => Some(op.window()),
        op => op.window(),
    }
}
