//! What rten says of itself.

use twinfer_case::{Capability, Condition, Description, Refusal, Stage};
use twinfer_onnx::DataType;

/// The pinned version of the crate.
const VERSION: &str = "0.27.0";

pub fn description() -> Description {
    Description { capabilities: capabilities(), ..Description::new("rten", VERSION, Stage::Execute) }
}

fn capabilities() -> Vec<Capability> {
    use Condition::{
        All, Any, AttributeAbsent, AutoPadSame, Dilated, Dtype, Not, Operator, OutputShape, SpatialRank,
    };
    let operators = |names: &[&str]| Any(names.iter().map(|name| Operator((*name).to_owned())).collect());
    let absent = |name: &str| AttributeAbsent(name.to_owned());
    let convolutions = || operators(&["Conv", "ConvTranspose", "ConvInteger"]);
    vec![
        rule(
            "rten-floats-of-32-bits",
            "documentation of the crate, \"Data types\": f64 is converted to f32, f16 and bf16 are planned",
            Any(vec![Dtype(DataType::Float16), Dtype(DataType::Bfloat16), Dtype(DataType::Double)]),
            Refusal::default(),
        ),
        rule(
            "rten-no-qlinear-conv",
            "docs/quantization.md of 0.27.0: \"It does not support the \\\"Q\\\" operators (QLinearMatMul, QLinearConv)\"",
            operators(&["QLinearConv"]),
            Refusal::with_words(Stage::Parse, "operator not supported"),
        ),
        rule(
            "rten-convolution-of-three-axes",
            "src/ops/conv.rs and conv_transpose.rs of 0.27.0: inputs have 4 dimensions, or 3, which become 4",
            All(vec![convolutions(), SpatialRank(3)]),
            Refusal::default(),
        ),
        rule(
            "rten-output-shape",
            "src/op_registry/onnx_registry.rs of 0.27.0 does not read it, and an attribute that is not read is an error",
            All(vec![Operator("ConvTranspose".to_owned()), OutputShape]),
            Refusal::with_words(Stage::Parse, "attributes: output_shape"),
        ),
        rule(
            "rten-pools-without-dilations",
            "src/op_registry/onnx_registry.rs of 0.27.0 checks that the dilations of AveragePool and MaxPool are 1",
            All(vec![operators(&["AveragePool", "MaxPool"]), Dilated]),
            Refusal::with_words(Stage::Parse, "error in attribute \"dilations\": unsupported value"),
        ),
        rule(
            "rten-defaults-without-kernel-shape",
            "src/op_registry/onnx_registry.rs of 0.27.0, get_common_conv_attrs: \"Spec says that spatial dims should be inferred\"",
            All(vec![
                convolutions(),
                absent("kernel_shape"),
                Any(vec![
                    absent("dilations"),
                    absent("strides"),
                    All(vec![absent("pads"), Not(Box::new(AutoPadSame))]),
                ]),
            ]),
            Refusal::default(),
        ),
    ]
}

fn rule(name: &str, source: &str, refuses: Condition, shows: Refusal) -> Capability {
    Capability { rule: name.to_owned(), source: source.to_owned(), refuses, shows }
}
