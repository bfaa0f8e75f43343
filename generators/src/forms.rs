use crate::{
    layer::Layer,
    weights::{Scheme, Weights},
};

/// The forms of a convolution's parameters.
#[derive(Clone, Copy, Debug)]
pub struct Forms {
    /// The quantization of the weights; `None` if they are not quantized.
    pub weights: Option<Scheme>,
    pub bias: Option<BiasForm>,
}

/// The form in which a bias is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BiasForm {
    Numbers,
    /// In steps of the products of the input's and the weights' scales.
    Integers,
}

impl Forms {
    /// Whether the weights have one scale per output channel.
    pub fn is_per_output(self, layer: &Layer) -> bool {
        self.weights.is_some_and(|scheme| scheme.axis == Some(layer.output_axis()))
    }

    /// The shift of an output channel's scale, if the bias shares it.
    pub fn bias_shift(self, layer: &Layer, weights: &Weights, output: usize) -> u32 {
        if self.bias == Some(BiasForm::Integers) && self.is_per_output(layer) {
            weights.shifts[layer.place_of_output(output)]
        } else {
            0
        }
    }
}
