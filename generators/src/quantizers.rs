use crate::{Choices, Dialect, Operator, Quantization, Quantizer, Scaling, layer::Layer, weights::Scheme};

/// The quantizers of one case.
#[derive(Clone, Copy, Debug)]
pub struct Quantizers<'a> {
    menus: &'a Quantization,
    dialect: Dialect,
}

impl<'a> Quantizers<'a> {
    pub fn draw(menus: &'a Quantization, choices: &mut Choices) -> Self {
        Self { menus, dialect: menus.dialect.draw(choices) }
    }

    fn suits(self, quantizer: Quantizer) -> bool {
        match self.dialect {
            Dialect::Onnx => true,
            Dialect::Symmetric => quantizer.is_symmetric(),
            Dialect::Explicit => quantizer == Quantizer::SYMMETRIC,
        }
    }

    /// Whether a bias may be integers.
    pub fn takes_integer_bias(self) -> bool {
        self.dialect != Dialect::Explicit
    }

    /// Channels in and out of a convolution that is wider than the others, if it is to be.
    pub fn wide(self, choices: &mut Choices) -> Option<(usize, usize)> {
        self.menus.wide.draw(choices)
    }

    /// The quantizer of a convolution's input.
    pub fn activation(self, choices: &mut Choices) -> Option<Quantizer> {
        self.menus.activation.draw_among(choices, |drawn| drawn.is_none_or(|quantizer| self.suits(quantizer)))
    }

    /// As [`activation`](Self::activation), if a quantizer is wanted.
    pub fn some_activation(self, choices: &mut Choices) -> Quantizer {
        let suits = |drawn: &Option<Quantizer>| drawn.is_some_and(|quantizer| self.suits(quantizer));
        self.menus.activation.draw_among(choices, suits).unwrap_or(Quantizer::SYMMETRIC)
    }

    /// The quantizer of the last value.
    pub fn output(self, choices: &mut Choices) -> Option<Quantizer> {
        self.menus.output.draw_among(choices, |drawn| drawn.is_none_or(|quantizer| self.suits(quantizer)))
    }

    /// Whether a value that is quantized at once is fed as integers.
    pub fn is_fed_integers(self, choices: &mut Choices) -> bool {
        self.menus.integer_input.draw(choices)
    }

    /// Whether a value that is quantized last is given as integers.
    pub fn gives_integers(self, choices: &mut Choices) -> bool {
        self.menus.integer_output.draw(choices)
    }

    /// The quantizer of the weights of `layer`, and the part that shares a scale if the operator set allows more than
    /// one.
    pub fn weights(self, layer: &Layer, opset: i64, choices: &mut Choices) -> Scheme {
        let quantizer = self.menus.weights.draw_among(choices, |quantizer| self.suits(*quantizer));
        let scaling = if opset >= PER_AXIS { self.menus.scaling.draw(choices) } else { Scaling::Tensor };
        Scheme { quantizer, axis: scaling.axis(layer, choices) }
    }

    /// The attribute `axis` of a tensor of this rank. With a single scale it has no meaning and is seldom written.
    pub fn attribute(
        self,
        axis: Option<usize>,
        rank: usize,
        opset: i64,
        choices: &mut Choices,
    ) -> Option<i64> {
        match axis {
            None if opset < PER_AXIS || !choices.percent(10) => None,
            None => Some(choices.below(rank) as i64),
            Some(axis) => self.menus.axis.draw(choices).attribute(axis, rank),
        }
    }
}

/// The first operator set with one scale per position along an axis.
const PER_AXIS: i64 = 13;

impl Scaling {
    /// The axis of the weight of `layer` along which scales differ.
    fn axis(self, layer: &Layer, choices: &mut Choices) -> Option<usize> {
        match (self, layer.operator) {
            (Self::Tensor, _) => None,
            (Self::Outputs, Operator::Conv) | (Self::Inputs, Operator::ConvTranspose) => Some(0),
            (Self::Inputs, Operator::Conv) | (Self::Outputs, Operator::ConvTranspose) => Some(1),
            (Self::Kernel, _) => Some(2 + choices.below(layer.axes.len())),
        }
    }
}
