//! ONNX graphs: a typed intermediate representation ([`Graph`]) of the operators twinfer knows, their shape rules,
//! and the encoding to and decoding from ONNX model bytes.
//!
//! This crate knows nothing of backends, cases or reference semantics. Operator and attribute names are ONNX's own.

mod dtype;
mod graph;
mod op;
mod tensor;

pub use dtype::DataType;
pub use graph::{Dim, Graph, Initializer, Node, ValueInfo};
pub use op::{
    AutoPad, BatchNormalization, Concat, Conv, ConvTranspose, DequantizeLinear, MaxPool, Op, QuantizeLinear,
};
pub use tensor::{Tensor, TensorData};
