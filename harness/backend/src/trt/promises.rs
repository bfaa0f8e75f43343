use twinfer_case::{Condition, QuantizationPromise};

/// The operators other than convolutions that every release documents to run in INT8 between quantizers. The guide says of layers
/// without weights that those with INT8 inputs also need INT8 outputs.
pub fn of_quantizers() -> Vec<QuantizationPromise> {
    vec![
        promise(
            "trt-quantizable-layers",
            "TensorRT, Explicit Quantization: an AveragePool and an element-wise addition are fused with the DequantizeLinear before \
             and the QuantizeLinear behind them",
            &["Add", "AveragePool", "GlobalAveragePool"],
        ),
        promise(
            "trt-commuting-layers",
            "TensorRT, Explicit Quantization: Max Pooling commutes with quantizers, has an INT8 implementation, and trades places \
             with them",
            &["MaxPool"],
        ),
    ]
}

fn promise(rule: &str, source: &str, operators: &[&str]) -> QuantizationPromise {
    let operators = operators.iter().map(|name| Condition::Operator((*name).to_owned())).collect();
    QuantizationPromise {
        rule: rule.to_owned(),
        source: source.to_owned(),
        concerns: Condition::All(vec![Condition::Any(operators), Condition::BetweenQuantizers]),
    }
}
