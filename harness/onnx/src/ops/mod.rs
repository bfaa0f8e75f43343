//! Shape and type rules, one operator a file.

mod arithmetic;
mod average_pool;
mod batch_normalization;
mod clip;
mod concat;
mod constant;
mod conv;
mod conv_transpose;
mod elementwise;
mod inputs;
mod integer_conv;
mod max_pool;
mod quantization;
mod transpose;

pub use inputs::Inputs;

pub use concat::resolve_axis;

use crate::{Op, TensorType, rule::Broken};

/// The oldest operator set that has the operator in a form that twinfer knows.
pub const fn first_opset(op: &Op) -> i64 {
    match op {
        Op::ConvInteger(_) | Op::DequantizeLinear(_) | Op::QLinearConv(_) | Op::QuantizeLinear(_) => 10,
        Op::Clip => 11,
        Op::HardSwish => 14,
        _ => 7,
    }
}

/// The type of the operator's output.
pub fn infer(op: &Op, inputs: &Inputs) -> Result<TensorType, Broken> {
    match op {
        Op::Add | Op::Mul => arithmetic::infer(inputs),
        Op::AveragePool(op) => average_pool::infer(op, inputs),
        Op::BatchNormalization(op) => batch_normalization::infer(op, inputs),
        Op::Clip => clip::infer(inputs),
        Op::Concat(op) => concat::infer(op, inputs),
        Op::Constant(value) => constant::infer(value, inputs),
        Op::Conv(op) => conv::infer(op, inputs),
        Op::ConvInteger(op) => integer_conv::infer_conv_integer(op, inputs),
        Op::ConvTranspose(op) => conv_transpose::infer(op, inputs),
        Op::DequantizeLinear(op) => quantization::infer_dequantize(op, inputs),
        Op::GlobalAveragePool => average_pool::infer_global(inputs),
        Op::HardSwish => elementwise::infer_float(inputs, 22),
        Op::Identity => elementwise::infer_identity(inputs),
        Op::LeakyRelu(_) => elementwise::infer_float(inputs, 16),
        Op::MaxPool(op) => max_pool::infer(op, inputs),
        Op::QLinearConv(op) => integer_conv::infer_q_linear_conv(op, inputs),
        Op::QuantizeLinear(op) => quantization::infer_quantize(op, inputs),
        Op::Relu => elementwise::infer_relu(inputs),
        Op::Sigmoid => elementwise::infer_float(inputs, 13),
        Op::Transpose(op) => transpose::infer(op, inputs),
    }
}
