//! Rewrites: changes of a finished case after which it is as valid as before and, in the exact regime, as exact.

mod bias_scale;
mod channel_scales;
mod computed_quantization;
mod constant;
mod conv_integer;
mod dequantized;
mod edit;
mod global_average_pool;
mod intermediate_output;
mod parameter_input;
mod q_linear_conv;
mod shared_weight;
mod transpose;

use twinfer_case::Case;
use twinfer_onnx::DataType;

use crate::Choices;

/// One change of a finished case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewrite {
    /// The scale of an integer bias is no longer the product of the scales of input and weight.
    BiasScale,
    /// The quantizer of an activation has a scale per channel.
    ChannelScales,
    /// A scale or a zero point is computed.
    ComputedQuantization,
    /// An initializer becomes a Constant.
    Constant,
    /// A Conv of quantized operands becomes a `ConvInteger`, so that INT32 values are dequantized.
    ConvInteger,
    /// The output becomes its average over all positions.
    GlobalAveragePool,
    /// Values inside the graph become outputs too.
    IntermediateOutput,
    /// A weight or a bias becomes an input of the graph.
    ParameterInput,
    /// A Conv between quantizers becomes a `QLinearConv`.
    QLinearConv,
    /// A second convolution reads the weight of another; its result is an output too.
    SharedWeight,
    /// TF32 is left at the default of backends, which allows it.
    Tf32,
    /// The input or the output has its axes in another order, or a value inside the graph gets them for a while.
    Transpose,
}

impl Rewrite {
    /// Changes `case`; a case that lacks what the rewrite needs stays as it is.
    pub(crate) fn apply(self, case: &mut Case, choices: &mut Choices) {
        let mut rewritten = case.clone();
        let changed = match self {
            Self::BiasScale => bias_scale::apply(&mut rewritten, choices),
            Self::ChannelScales => channel_scales::apply(&mut rewritten, choices),
            Self::ComputedQuantization => computed_quantization::apply(&mut rewritten, choices),
            Self::Constant => constant::apply(&mut rewritten, choices),
            Self::ConvInteger => conv_integer::apply(&mut rewritten, choices),
            Self::GlobalAveragePool => global_average_pool::apply(&mut rewritten),
            Self::IntermediateOutput => intermediate_output::apply(&mut rewritten, choices),
            Self::ParameterInput => parameter_input::apply(&mut rewritten, choices),
            Self::QLinearConv => q_linear_conv::apply(&mut rewritten, choices),
            Self::SharedWeight => shared_weight::apply(&mut rewritten, choices),
            Self::Tf32 => allow_tf32(&mut rewritten),
            Self::Transpose => transpose::apply(&mut rewritten, choices),
        };
        if changed.is_some() {
            *case = rewritten;
            if matches!(self, Self::ConvInteger | Self::QLinearConv) {
                vary_parameters(case, choices);
            }
        }
    }
}

/// Changes where an operator on integers, which reads many parameters, has them from, or gives what it sums.
fn vary_parameters(case: &mut Case, choices: &mut Choices) {
    match choices.below(100) {
        0..20 => constant::apply_to_all(case),
        20..50 => Rewrite::ComputedQuantization.apply(case, choices),
        50..65 => Rewrite::IntermediateOutput.apply(case, choices),
        _ => {}
    }
}

fn allow_tf32(case: &mut Case) -> Option<()> {
    let suits = case.request.precision == DataType::Float;
    suits.then(|| case.request.tf32 = true)
}
