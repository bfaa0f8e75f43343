use std::ops::Range;

use twinfer_onnx::{Op, Window};

use crate::value::Value;

use super::{operand::Operand, term::Term};

macro_rules! operators {
    ($($name:ident = $slug:literal { $($operand:ident = $place:literal),* };)*) => {
        /// An operator that golden evaluates and that edits change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each variant is the ONNX operator of the same name")]
        pub enum Operator {
            $($name,)*
        }

        impl Operator {
            /// Every operator.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The ONNX operator type.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// The name in names of edits.
            pub(crate) const fn slug(self) -> &'static str {
                match self { $(Self::$name => $slug,)* }
            }

            /// What the operator reads, each with its place among the inputs of a node.
            pub(super) const fn inputs(self) -> &'static [(Operand, usize)] {
                match self { $(Self::$name => &[$((Operand::$operand, $place)),*],)* }
            }
        }
    };
}

operators! {
    Add = "add" { Data = 0, Addend = 1, BroadcastData = 0, BroadcastAddend = 1 };
    AveragePool = "averagepool" { Data = 0 };
    BatchNormalization = "batchnormalization" { Data = 0, Scale = 1, Bias = 2, Mean = 3, Variance = 4 };
    Clip = "clip" { Data = 0, LowerBound = 1, UpperBound = 2 };
    Concat = "concat" { Data = 0, Second = 1 };
    Conv = "conv" { Data = 0, Weight = 1, Bias = 2 };
    ConvInteger = "convinteger" { Data = 0, Weight = 1, DataZeroPoint = 2, WeightZeroPoint = 3 };
    ConvTranspose = "convtranspose" { Data = 0, Weight = 1, Bias = 2 };
    DequantizeLinear = "dequantizelinear" { Data = 0, Scale = 1, ZeroPoint = 2 };
    GlobalAveragePool = "globalaveragepool" { Data = 0 };
    HardSwish = "hardswish" { Data = 0 };
    LeakyRelu = "leakyrelu" { Data = 0 };
    MaxPool = "maxpool" { Data = 0 };
    QLinearConv = "qlinearconv" {
        Data = 0, DataScale = 1, DataZeroPoint = 2, Weight = 3, WeightScale = 4, WeightZeroPoint = 5, Scale = 6,
        ZeroPoint = 7, Bias = 8
    };
    QuantizeLinear = "quantizelinear" { Data = 0, Scale = 1, ZeroPoint = 2 };
    Relu = "relu" { Data = 0 };
    Sigmoid = "sigmoid" { Data = 0 };
    Transpose = "transpose" { Data = 0 };
}

impl Operator {
    /// The operator of a node; `None` if no edit changes it.
    pub fn of(op: &Op) -> Option<Self> {
        Self::ALL.iter().copied().find(|operator| operator.name() == op.op_type())
    }

    /// The places of an operand among the inputs of a node; none if it is the output, or is not read.
    pub(super) fn places(self, operand: Operand, inputs: &[Option<Value>]) -> Range<usize> {
        let count = inputs.len();
        let shape = |place: usize| inputs[place].as_ref().map_or(&[][..], |input| &input.shape);
        match operand {
            Operand::Last => count.saturating_sub(1)..count,
            Operand::SecondOrBroadcast if count == 2 => {
                let place = usize::from(!is_broadcast(shape(0), shape(1)));
                place..place + 1
            }
            Operand::Each if self == Self::Concat => 0..count,
            Operand::Each => 0..count.min(2),
            operand => {
                let mut inputs = self.inputs().iter();
                let place = inputs.find(|(one, place)| *one == operand && *place < count);
                place.map_or(0..0, |(_, place)| *place..place + 1)
            }
        }
    }

    /// What the operator reads at places that depend on the node, or at several.
    const fn roles(self) -> &'static [Operand] {
        match self {
            Self::Add => &[Operand::SecondOrBroadcast, Operand::Each],
            Self::Concat => &[Operand::Last, Operand::Each],
            Self::Conv | Self::ConvTranspose => &[Operand::Each],
            _ => &[],
        }
    }

    /// What the operator reads, and its output.
    pub(super) fn operands(self) -> impl Iterator<Item = Operand> {
        let inputs = self.inputs().iter().map(|(operand, _)| *operand);
        inputs.chain(self.roles().iter().copied()).chain([Operand::Output])
    }

    /// Whether it sums products of windows and weights.
    pub(super) const fn is_convolution(self) -> bool {
        matches!(self, Self::Conv | Self::ConvInteger | Self::ConvTranspose | Self::QLinearConv)
    }

    /// Whether models seldom have it, so that few experiments are made with it.
    pub(super) const fn is_rare(self) -> bool {
        matches!(self, Self::ConvInteger | Self::QLinearConv)
    }

    /// Whether an operand has no elements that `term` changes, or `term` changes those that are broadcast.
    pub(super) fn is_kept_by(self, operand: Operand, term: Term) -> bool {
        match term {
            _ if operand.is_broadcast() => true,
            // listed mutants round the factors of a convolution so
            Term::InBfloat16 | Term::InTf32 if operand == Operand::Each => self.is_convolution(),
            term if operand == Operand::Each => !term.is_rounding(),
            Term::Absolute => matches!((self, operand), (Self::Relu | Self::Sigmoid, Operand::Output)),
            Term::Positive => {
                matches!((self, operand), (Self::Relu, _) | (Self::Sigmoid, Operand::Output))
            }
            // scales of quantizers are below 1
            Term::AtMostOne => {
                operand.is_factor() && !matches!(self, Self::BatchNormalization)
                    || matches!((self, operand), (Self::Sigmoid, Operand::Output))
            }
            // a quantizer that gives no lowest integer saturates otherwise
            Term::AboveLowest => !self.has_bytes(operand) || operand == Operand::Output,
            Term::Low16 => !matches!((self, operand), (Self::DequantizeLinear, Operand::Data)),
            term => term.is_of_bytes() && !self.has_bytes(operand),
        }
    }

    /// Whether elements of an operand are integers of 8 bits.
    const fn has_bytes(self, operand: Operand) -> bool {
        let is_wide = matches!((self, operand), (Self::ConvInteger, Operand::Output) | (_, Operand::Bias));
        operand.is_zero_point() || self.is_integer(operand) && !is_wide
    }

    /// Whether an operand has one element.
    pub(super) const fn is_scalar(self, operand: Operand) -> bool {
        matches!(operand, Operand::LowerBound | Operand::UpperBound)
            || self.is_rare()
                && matches!(
                    operand,
                    Operand::DataScale | Operand::DataZeroPoint | Operand::Scale | Operand::ZeroPoint
                )
    }

    /// Whether elements of an operand are integers.
    pub(super) const fn is_integer(self, operand: Operand) -> bool {
        matches!(
            (self, operand),
            (Self::ConvInteger, _)
                | (Self::DequantizeLinear, Operand::Data)
                | (Self::QuantizeLinear, Operand::Output)
                | (Self::QLinearConv, Operand::Data | Operand::Weight | Operand::Bias | Operand::Output)
        )
    }

    /// Whether one operand may be taken for another: both may have the same type and shape.
    pub(super) fn are_alike(self, one: Operand, other: Operand) -> bool {
        let is_other = |operand: Operand| {
            operand.is_broadcast()
                || operand == Operand::Weight
                || self == Self::QLinearConv && operand == Operand::Bias
        };
        one.is_tensor() == other.is_tensor()
            && one.is_zero_point() == other.is_zero_point()
            && !is_other(one)
            && !is_other(other)
    }

    pub(super) const fn is_quantizer(self) -> bool {
        matches!(self, Self::QuantizeLinear | Self::DequantizeLinear)
    }
}

/// Whether a tensor of the shape `one` is broadcast if it is combined with one of the shape `other`.
fn is_broadcast(one: &[usize], other: &[usize]) -> bool {
    let mut extents = one.iter().rev().zip(other.iter().rev());
    other.len() > one.len() || extents.any(|(one, other)| *one == 1 && *other != 1)
}

/// The number of groups of a convolution; 1 for every other operator.
pub fn groups(op: &Op) -> usize {
    let of_window = |window: Window<'_>| usize::try_from(window.group()).unwrap_or(1).max(1);
    match op {
        Op::ConvInteger(op) | Op::QLinearConv(op) => of_window(op.window()),
        op => op.window().map_or(1, of_window),
    }
}
