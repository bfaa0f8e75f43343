use twinfer_case::{Capability, Condition};

use super::choices::Provider;

/// What ONNX Runtime does not take, by execution provider.
pub fn of(provider: Provider) -> Vec<Capability> {
    match provider {
        Provider::Cpu => vec![auto_pad_same_with_dilation(), output_padding_at_least_stride()],
        // it takes an output_padding below the larger of stride and dilation, as ONNX does
        Provider::Cuda { .. } => vec![auto_pad_same_with_dilation()],
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
