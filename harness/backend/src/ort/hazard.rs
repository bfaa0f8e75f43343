use twinfer_case::Condition;

use crate::hazard::Hazard;

/// Graphs that ONNX Runtime CUDA computes with sizes nobody set: it dies, asks for buffers of random sizes, or writes where it
/// should not, which shows in a later case if at all.
pub fn hazard() -> Hazard {
    let dilated = |operator: &str, beside: Condition| {
        Condition::All(vec![Condition::Operator(operator.to_owned()), Condition::Dilated, beside])
    };
    let deconvolution = vec![Condition::OutputPadding, Condition::AutoPadSame];
    Hazard {
        rule: "ort-cuda-hazardous-dilation",
        source: "measured on ONNX Runtime CUDA 1.31.1: Conv with dilations and auto_pad SAME, and ConvTranspose with \
                 dilations and output_padding or auto_pad SAME, end workers with signal 11 or ask for buffers of random \
                 sizes (docs/campaigns.md)",
        concerned: Condition::Any(vec![
            dilated("Conv", Condition::AutoPadSame),
            dilated("ConvTranspose", Condition::Any(deconvolution)),
        ]),
    }
}
