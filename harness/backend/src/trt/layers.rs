//! The layers of a network before it is built.

use nvinfer::{DataType, LayerType, NetworkDefinition, Result};

use crate::options::LayerPrecision;

/// Whether a network has quantizers.
pub fn are_quantized(network: &NetworkDefinition<'_>) -> Result<bool> {
    let is_quantizer = |layer: &nvinfer::Layer<'_>| {
        matches!(layer.layer_type(), Ok(LayerType::Quantize | LayerType::Dequantize))
    };
    Ok(network.layers()?.iter().any(is_quantizer))
}

/// Asks convolutions for a precision. In a network with quantizers these say what runs in which precision.
pub fn ask(network: &NetworkDefinition<'_>, precision: LayerPrecision) -> Result<()> {
    if precision == LayerPrecision::Free || are_quantized(network)? {
        return Ok(());
    }
    let mut count = 0;
    for layer in network.layers()? {
        if matches!(layer.layer_type(), Ok(LayerType::Convolution | LayerType::Deconvolution)) {
            layer.set_precision(of_layer(precision, count))?;
            count += 1;
        }
    }
    Ok(())
}

/// What the convolution at `place` among all convolutions is asked for.
const fn of_layer(precision: LayerPrecision, place: usize) -> DataType {
    match precision {
        LayerPrecision::Fp16 => DataType::Half,
        LayerPrecision::Alternate if place.is_multiple_of(2) => DataType::Half,
        LayerPrecision::Free | LayerPrecision::Fp32 | LayerPrecision::Alternate => DataType::Float,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternate_layers_are_asked_for_fp16_and_fp32_by_turns() {
        let asked = [0, 1, 2].map(|place| of_layer(LayerPrecision::Alternate, place));
        assert_eq!(asked, [DataType::Half, DataType::Float, DataType::Half]);
        assert_eq!(of_layer(LayerPrecision::Fp32, 0), DataType::Float);
    }
}
