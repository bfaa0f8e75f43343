use twinfer_case::{
    Algorithms, Arithmetic, Capability, Condition, Effect, FallbackReason, Limitation, Quantization, Refusal,
    Stage, Sums,
};
use twinfer_onnx::{DataType, MAX_OPSET};

use super::choices::Provider;
use crate::options::Optimization;

/// The graphs that ONNX Runtime refuses, by execution provider. The release takes operator sets up to `newest_opset`.
pub fn of(provider: Provider, newest_opset: i64) -> Vec<Capability> {
    let of_release = (newest_opset < MAX_OPSET).then(|| newer_opset(newest_opset));
    of_release.into_iter().chain(of_provider(provider)).collect()
}

fn newer_opset(newest: i64) -> Capability {
    Capability {
        rule: "ort-newer-opset".to_owned(),
        source: format!(
            "ONNX Runtime, \"ONNX Runtime compatibility\": a release takes the operator sets of the ONNX release that it was built \
             with; measured at start-up: this one takes those up to {newest}"
        ),
        refuses: Condition::OpsetAbove(newest),
        shows: Refusal { stage: Some(Stage::Parse), words: None },
    }
}

fn of_provider(provider: Provider) -> Vec<Capability> {
    match provider {
        Provider::Cpu => vec![
            auto_pad_same_with_dilation(),
            output_padding_at_least_stride(),
            zero_points_of_conv_integer(),
            types_of_q_linear_conv(),
        ],
        // it takes an output_padding below the larger of stride and dilation, as ONNX does
        Provider::Cuda { .. } => vec![auto_pad_same_with_dilation()],
        Provider::Plugin(_) => Vec::new(),
    }
}

/// The operators that ONNX Runtime computes otherwise than the graph says.
pub fn limitations(provider: Provider, level: Optimization) -> Vec<Limitation> {
    let mut limitations = match provider {
        Provider::Cpu => vec![quantizes_through_int32(), pools_from_lowest()],
        Provider::Cuda { .. } | Provider::Plugin(_) => Vec::new(),
    };
    if level != Optimization::Off {
        limitations.push(merges_quantizer_pairs());
    }
    if quantization(provider, level) == Quantization::FusesPairs {
        limitations.extend(of_fused_quantizers());
    }
    limitations
}

fn of_fused_quantizers() -> Vec<Limitation> {
    let mut limitations = vec![
        no_quantized_deconvolution(),
        float_scales_only(),
        one_activation_type(),
        quantized_bias(),
        quantized_weights(),
    ];
    if !has_wide_dot_products() {
        limitations.push(saturating_pairs());
    }
    limitations
}

/// Graph optimizations of the extended level replace quantizers and the operator between them by one operator, if the CPU
/// provider has that operator; the CUDA provider has none of them. Plugins compile graphs, and do not say what they make of them.
pub const fn quantization(provider: Provider, level: Optimization) -> Quantization {
    match (provider, level) {
        (Provider::Plugin(_), _) => Quantization::Unstated,
        (Provider::Cpu, Optimization::All) => Quantization::FusesPairs,
        _ => Quantization::Simulates,
    }
}

/// What is known of a provider's arithmetic. The CPU provider has no 16-bit kernels: it casts to 32-bit floats and back, and
/// it leaves the processor's gradual underflow on. Graph optimizations fold BatchNormalization and the like into 16-bit
/// weights, which are then rounded as any operand of a sum might be.
pub fn arithmetic(provider: Provider, level: Optimization) -> Arithmetic {
    match (provider, level) {
        (Provider::Cpu, Optimization::Off) => Arithmetic::STRICT,
        (Provider::Cpu, _) => Arithmetic { sums: Sums::InOperandType, ..Arithmetic::STRICT },
        // cuDNN chooses among implicit GEMM, Winograd and FFT
        (Provider::Cuda { .. }, _) => Arithmetic::default().with(Algorithms::Any),
        (Provider::Plugin(_), _) => Arithmetic::default(),
    }
}

fn limitation(rule: &str, source: &str, concerns: Condition, effect: Effect) -> Limitation {
    Limitation { rule: rule.to_owned(), source: source.to_owned(), concerns, effect, mutants: Vec::new() }
}

fn no_quantized_deconvolution() -> Limitation {
    limitation(
        "ort-no-quantized-conv-transpose",
        "ONNX Runtime, OperatorKernels.md: no kernel of the CPU provider is a quantized ConvTranspose",
        Condition::Operator("ConvTranspose".to_owned()),
        Effect::Fallback(FallbackReason::NoKernel),
    )
}

fn float_scales_only() -> Limitation {
    limitation(
        "ort-no-quantized-float16",
        "ONNX, QLinearConv: its scales are tensor(float), so that quantizers of FLOAT16 cannot become one",
        Condition::All(vec![Condition::QuantizedOperands, Condition::Dtype(DataType::Float16)]),
        Effect::Fallback(FallbackReason::NoKernel),
    )
}

fn one_activation_type() -> Limitation {
    limitation(
        "ort-one-activation-type",
        "ONNX Runtime, ConvNodeGroupSelector: \"input and output types need to be same\"",
        Condition::RequantizedAsOtherType,
        Effect::Fallback(FallbackReason::NotFused),
    )
}

fn quantized_bias() -> Limitation {
    let quantized_bias = limitation(
        "ort-float-bias-is-quantized",
        "ONNX Runtime, WeightBiasQuantization: a float bias between quantizers becomes INT32 in steps of the product \
         of the operands' scales",
        Condition::All(vec![Condition::QuantizedOperands, Condition::FloatBias]),
        Effect::WrongValues,
    );
    Limitation { mutants: vec!["bias-in-product-steps".to_owned()], ..quantized_bias }
}

fn quantized_weights() -> Limitation {
    let quantized_weights = limitation(
        "ort-float-weights-are-quantized",
        "ONNX Runtime, WeightBiasQuantization: constant float weights between quantizers become INT8, with one scale \
         and zero point over their range",
        Condition::FloatWeights,
        Effect::WrongValues,
    );
    let mutants = ["float-weights-quantized", "float-weights-and-bias-quantized"];
    Limitation { mutants: mutants.map(str::to_owned).to_vec(), ..quantized_weights }
}

fn merges_quantizer_pairs() -> Limitation {
    let merges_pairs = limitation(
        "ort-quantizer-pairs-are-merged",
        "ONNX Runtime, DoubleQDQPairsRemover: of two pairs of QuantizeLinear and DequantizeLinear, one behind the other, one is left, whose \
         range is what both have in common; seen in 1.31.1 from `opt=basic` on",
        Condition::Operator("DequantizeLinear".to_owned()),
        Effect::WrongValues,
    );
    Limitation { mutants: vec!["quantizer-pairs-merged".to_owned()], ..merges_pairs }
}

fn quantizes_through_int32() -> Limitation {
    let through_int32 = limitation(
        "ort-float16-quantizes-through-int32",
        "ONNX Runtime, ParQuantizeLinearStd of MLFloat16: casts to int32_t before it saturates; seen in 1.31.1: infinities and numbers from \
         2147483648 on give the lowest integer",
        Condition::All(vec![
            Condition::Operator("QuantizeLinear".to_owned()),
            Condition::Dtype(DataType::Float16),
        ]),
        Effect::WrongValues,
    );
    Limitation { mutants: vec!["quantized-through-int32".to_owned()], ..through_int32 }
}

fn pools_from_lowest() -> Limitation {
    let from_lowest = limitation(
        "ort-pool-from-lowest",
        "ONNX Runtime, MLAS_MAXIMUM_POOLING: InitialValue is the lowest finite number; seen in 1.31.1: windows of minus infinity give it, \
         in two dimensions only those that are padded along the last axis or cover the whole input",
        Condition::Operator("MaxPool".to_owned()),
        Effect::WrongValues,
    );
    let mutants = ["pool-from-lowest", "pool-padding-lowest"];
    Limitation { mutants: mutants.map(str::to_owned).to_vec(), ..from_lowest }
}

fn saturating_pairs() -> Limitation {
    let saturating_pairs = limitation(
        "ort-u8s8-saturates",
        "ONNX Runtime, Quantize ONNX Models: on processors with AVX2 or AVX512 but without VNNI, VPMADDUBSW sums products of \
         UINT8 and INT8 in pairs that saturate at 16 bits",
        Condition::Operator("Conv".to_owned()),
        Effect::WrongValues,
    );
    let mutants = [
        "pairs-saturated",
        "pairs-of-float-weights-saturated",
        "pairs-saturated-with-bias-in-product-steps",
        "pairs-of-float-weights-saturated-with-bias-in-product-steps",
    ];
    Limitation { mutants: mutants.map(str::to_owned).to_vec(), ..saturating_pairs }
}

/// Whether this processor sums four products of bytes in 32 bits at once.
#[cfg(target_arch = "x86_64")]
fn has_wide_dot_products() -> bool {
    std::arch::is_x86_feature_detected!("avx512vnni") || std::arch::is_x86_feature_detected!("avxvnni")
}

#[cfg(not(target_arch = "x86_64"))]
const fn has_wide_dot_products() -> bool {
    true
}

fn auto_pad_same_with_dilation() -> Capability {
    Capability {
        rule: "conv-auto-pad-same-with-dilation".to_owned(),
        source:
            "ONNX Runtime, ComputePad: \"Dilation not supported for AutoPadType::SAME_UPPER or SAME_LOWER\""
                .to_owned(),
        refuses: Condition::All(vec![
            Condition::Any(
                ["Conv", "ConvInteger", "QLinearConv"]
                    .map(|name| Condition::Operator(name.to_owned()))
                    .to_vec(),
            ),
            Condition::AutoPadSame,
            Condition::Dilated,
        ]),
        shows: Refusal::with_words(Stage::Execute, "Dilation not supported for AutoPadType"),
    }
}

/// The place of the zero point of the weights among the inputs of a `ConvInteger`.
const W_ZERO_POINT: usize = 3;

fn zero_points_of_conv_integer() -> Capability {
    Capability {
        rule: "conv-integer-zero-point-per-channel".to_owned(),
        source: "ONNX Runtime, ConvInteger::Compute: \"Non per-tensor quantization is not supported now.\""
            .to_owned(),
        refuses: Condition::All(vec![
            Condition::Operator("ConvInteger".to_owned()),
            Condition::ConstantOfSeveral(W_ZERO_POINT),
        ]),
        shows: Refusal::with_words(Stage::Execute, "Non per-tensor quantization is not supported"),
    }
}

/// The kernels are for INT8 alone, and for UINT8 data and results with weights of either type. The zero points of data,
/// weights and result, which have their types, are the inputs 2, 5 and 7.
fn types_of_q_linear_conv() -> Capability {
    let mixed = |input: usize, dtype: DataType| {
        let other = if dtype == DataType::Int8 { DataType::Uint8 } else { DataType::Int8 };
        Condition::All(vec![Condition::ConstantOfType(2, other), Condition::ConstantOfType(input, dtype)])
    };
    Capability {
        rule: "q-linear-conv-types".to_owned(),
        source: "ONNX Runtime, OperatorKernels.md, QLinearConv of the CPU provider: T1 and T3 are one type, and T2 is \
                 INT8 if they are"
            .to_owned(),
        refuses: Condition::All(vec![
            Condition::Operator("QLinearConv".to_owned()),
            Condition::Any(vec![
                mixed(5, DataType::Uint8),
                mixed(7, DataType::Uint8),
                mixed(7, DataType::Int8),
            ]),
        ]),
        shows: Refusal::with_words(Stage::Parse, "Could not find an implementation for QLinearConv"),
    }
}

fn output_padding_at_least_stride() -> Capability {
    Capability {
        rule: "conv-transpose-output-padding-at-least-stride".to_owned(),
        source: "ONNX Runtime, ConvTransposeAttributes: output_padding must be below the stride".to_owned(),
        refuses: Condition::All(vec![
            Condition::Operator("ConvTranspose".to_owned()),
            Condition::OutputPaddingAtLeastStride,
        ]),
        shows: Refusal::with_words(Stage::Execute, "inconsistent with input spatial dimensions"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Search;

    #[test]
    fn only_unoptimized_graphs_on_the_cpu_are_strict() {
        let cuda = Provider::Cuda {
            device: 0,
            search: Search::Heuristic,
            memory: twinfer_case::MemoryMode::default(),
        };
        assert_eq!(arithmetic(Provider::Cpu, Optimization::Off), Arithmetic::STRICT);
        for level in [Optimization::Basic, Optimization::All] {
            let expected = Arithmetic { sums: Sums::InOperandType, ..Arithmetic::STRICT };
            assert_eq!(arithmetic(Provider::Cpu, level), expected);
        }
        assert_eq!(arithmetic(cuda, Optimization::Off), Arithmetic::default().with(Algorithms::Any));
    }
}
