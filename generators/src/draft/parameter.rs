use twinfer_onnx::{DataType, Op};

use super::{Draft, quantization::Operators};
use crate::{
    Bias, Source, convolution::Drawn, forms::BiasForm, layer::Layer, quantizers::Quantizers, weights::Scheme,
};

impl Draft<'_> {
    /// How weights from `source` are quantized, if they are.
    pub(super) fn scheme(&mut self, layer: &Layer, source: Source) -> Option<Scheme> {
        let quantizers = self.plan.quantizers.filter(|_| source.is_quantized())?;
        let Scheme { quantizer, axis } = quantizers.weights(layer, self.plan.opset, self.choices);
        let quantizer = if source == Source::Quantized { quantizer.quantizing() } else { quantizer };
        Some(Scheme { quantizer, axis })
    }

    /// The bias of a convolution; stored as integers only if the weights are.
    pub(super) fn bias(&mut self, weights: Option<Scheme>) -> Bias {
        let quantizers = self.plan.quantizers.filter(|_| weights.is_some());
        let takes_integers = quantizers.is_some_and(Quantizers::takes_integer_bias);
        match self.space.bias.draw(self.choices) {
            Bias::From(source) if source.is_quantized() && !takes_integers => Bias::From(Source::Initializer),
            bias => bias,
        }
    }

    /// The name of a parameter, from where `source` says.
    pub(super) fn parameter(&mut self, name: &str, drawn: Drawn, source: Source) -> String {
        match (drawn, source) {
            (Drawn::Integers(quantized), source) => {
                let rank = quantized.integers.shape.len();
                let is_rounded = source == Source::Quantized && quantized.integers.dtype() != DataType::Int32;
                let inner =
                    self.initializer(name, if is_rounded { quantized.numbers } else { quantized.integers });
                let operators = if is_rounded { Operators::Both } else { Operators::DequantizeLinear };
                self.add_quantization(inner, quantized.quantization, rank, operators)
            }
            (Drawn::Numbers(tensor), Source::Identity) => {
                let inner = self.initializer(name, tensor);
                self.add_node(Op::Identity, vec![inner])
            }
            (Drawn::Numbers(tensor), Source::Sum) => {
                let summands = self.plan.parameters.summands(&tensor, self.choices);
                let inputs = summands.map(|summand| self.initializer(name, summand));
                self.add_node(Op::Add, inputs.to_vec())
            }
            (Drawn::Numbers(tensor), _) => self.initializer(name, tensor),
        }
    }
}

impl Source {
    const fn is_quantized(self) -> bool {
        matches!(self, Self::Dequantized | Self::Quantized)
    }
}

impl Bias {
    pub(super) const fn form(self) -> Option<BiasForm> {
        match self {
            Self::Absent | Self::Empty => None,
            Self::From(source) if source.is_quantized() => Some(BiasForm::Integers),
            Self::From(_) => Some(BiasForm::Numbers),
        }
    }
}
