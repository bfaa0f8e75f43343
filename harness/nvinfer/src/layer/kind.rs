//! The kinds of layers.

use std::ops::Deref;

use super::{ConcreteLayer, Layer};
use crate::{
    LayerType,
    sys::table::{
        IActivationLayer, ICastLayer, IConcatenationLayer, IConstantLayer, IConvolutionLayer,
        IDeconvolutionLayer, IDequantizeLayer, IElementWiseLayer, IPoolingLayer, IQuantizeLayer, IScaleLayer,
        IShuffleLayer,
    },
};

macro_rules! concrete {
    ($($(#[$doc:meta])* $name:ident: $class:ident, $type:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'n> {
            layer: Layer<'n>,
            pub(super) raw: $class,
        }

        impl<'n> ConcreteLayer<'n> for $name<'n> {
            const TYPE: LayerType = LayerType::$type;

            fn assume(layer: Layer<'n>) -> Self {
                Self { layer, raw: $class(layer.raw.0) }
            }
        }

        impl<'n> Deref for $name<'n> {
            type Target = Layer<'n>;

            fn deref(&self) -> &Layer<'n> {
                &self.layer
            }
        }
    )*};
}
concrete! {
    /// A convolution.
    Convolution: IConvolutionLayer, Convolution;
    /// A deconvolution: the gradient of a convolution, ONNX's ConvTranspose.
    Deconvolution: IDeconvolutionLayer, Deconvolution;
    /// A pooling.
    Pooling: IPoolingLayer, Pooling;
    /// An activation.
    Activation: IActivationLayer, Activation;
    /// An element-wise operation on two tensors.
    ElementWise: IElementWiseLayer, Elementwise;
    /// `(x · scale + shift) ^ power`, coefficients shared as its mode says.
    Scale: IScaleLayer, Scale;
    /// A concatenation.
    Concatenation: IConcatenationLayer, Concatenation;
    /// A transpose, a reshape and a second transpose.
    Shuffle: IShuffleLayer, Shuffle;
    /// A constant.
    Constant: IConstantLayer, Constant;
    /// A conversion of element types.
    Cast: ICastLayer, Cast;
    /// A quantization: round half to even of `x / scale`, saturated.
    Quantize: IQuantizeLayer, Quantize;
    /// A dequantization: `x · scale`.
    Dequantize: IDequantizeLayer, Dequantize;
}
