use twinfer_case::{Condition, Quantization, QuantizationPromise};
use twinfer_onnx::DataType;

use super::{capabilities::quantization, choices::Provider};
use crate::{options::Optimization, promise::between_quantizers};

/// The first operator set whose `MaxPool` takes integers.
const INTEGER_MAX_POOL: i64 = 12;

/// The operators other than convolutions that ONNX Runtime replaces, together with the quantizers around them, by one operator on
/// integers.
pub fn of_quantizers(provider: Provider, level: Optimization) -> Vec<QuantizationPromise> {
    if quantization(provider, level) != Quantization::FusesPairs {
        return Vec::new();
    }
    vec![
        between_quantizers(
            "ort-unary-between-quantizers",
            "ONNX Runtime, UnaryOpQDQRules: the operator becomes QLinearAveragePool and the like, if types are equal",
            &["AveragePool", "GlobalAveragePool", "LeakyRelu", "Sigmoid"],
            of_one_type(),
        ),
        between_quantizers(
            "ort-binary-between-quantizers",
            "ONNX Runtime, BinaryOpQDQRules: the operator becomes QLinearAdd or QLinearMul, if types are equal",
            &["Add", "Mul"],
            of_one_type(),
        ),
        between_quantizers(
            "ort-concat-between-quantizers",
            "ONNX Runtime, VariadicOpQDQRules: the operator becomes QLinearConcat, if types are equal",
            &["Concat"],
            of_one_type(),
        ),
        between_quantizers(
            "ort-data-kept-between-quantizers",
            "ONNX Runtime, DropQDQNodesRules: quantizers with the same parameters are dropped around the operator",
            &["MaxPool", "Transpose"],
            vec![Condition::RequantizedAlike, not(Condition::OpsetBelow(INTEGER_MAX_POOL))],
        ),
    ]
}

/// The scales of its own operators are 32-bit floats.
fn of_one_type() -> Vec<Condition> {
    vec![not(Condition::RequantizedAsOtherType), not(Condition::Dtype(DataType::Float16))]
}

fn not(condition: Condition) -> Condition {
    Condition::Not(Box::new(condition))
}
