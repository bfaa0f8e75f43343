use twinfer_case::{Capability, Condition, Effect, FallbackReason, Limitation, Quantization};

use super::choices::{Optimization, Provider};

/// What ONNX Runtime does not take, by execution provider.
pub fn of(provider: Provider) -> Vec<Capability> {
    match provider {
        Provider::Cpu => vec![auto_pad_same_with_dilation(), output_padding_at_least_stride()],
        // it takes an output_padding below the larger of stride and dilation, as ONNX does
        Provider::Cuda { .. } => vec![auto_pad_same_with_dilation()],
    }
}

/// What ONNX Runtime takes and does not run quantised.
pub fn limitations(provider: Provider) -> Vec<Limitation> {
    match provider {
        Provider::Cpu => vec![no_quantized_deconvolution()],
        Provider::Cuda { .. } => Vec::new(),
    }
}

/// Graph optimisations of the extended level replace quantisers and what stands between them by one operator, where
/// the CPU provider has that operator; the CUDA provider has none of them.
pub const fn quantization(provider: Provider, level: Optimization) -> Quantization {
    match (provider, level) {
        (Provider::Cpu, Optimization::All) => Quantization::FusesPairs,
        _ => Quantization::Simulates,
    }
}

fn no_quantized_deconvolution() -> Limitation {
    Limitation {
        rule: "ort-no-quantized-conv-transpose".to_owned(),
        source:
            "ONNX Runtime, OperatorKernels.md: no kernel of the CPU provider is a quantised ConvTranspose"
                .to_owned(),
        concerns: Condition::Operator("ConvTranspose".to_owned()),
        effect: Effect::Fallback(FallbackReason::NoKernel),
    }
}

fn auto_pad_same_with_dilation() -> Capability {
    Capability {
        rule: "conv-auto-pad-same-with-dilation".to_owned(),
        source:
            "ONNX Runtime, ComputePad: \"Dilation not supported for AutoPadType::SAME_UPPER or SAME_LOWER\""
                .to_owned(),
        refuses: Condition::All(vec![
            Condition::Operator("Conv".to_owned()),
            Condition::AutoPadSame,
            Condition::Dilated,
        ]),
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
    }
}
