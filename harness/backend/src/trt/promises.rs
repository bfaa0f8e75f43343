use twinfer_case::QuantizationPromise;

use crate::promise::between_quantizers;

/// The operators other than convolutions that every release documents to run in INT8 between quantizers. The guide says of layers
/// without weights that those with INT8 inputs also need INT8 outputs.
pub fn of_quantizers() -> Vec<QuantizationPromise> {
    vec![
        between_quantizers(
            "trt-quantizable-layers",
            "TensorRT, Explicit Quantization: an AveragePool and an element-wise addition are fused with the DequantizeLinear before \
             and the QuantizeLinear behind them",
            &["Add", "AveragePool", "GlobalAveragePool"],
            Vec::new(),
        ),
        between_quantizers(
            "trt-commuting-layers",
            "TensorRT, Explicit Quantization: Max Pooling commutes with quantizers, has an INT8 implementation, and trades places \
             with them",
            &["MaxPool"],
            Vec::new(),
        ),
    ]
}
