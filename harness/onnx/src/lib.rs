//! ONNX graphs: a typed intermediate representation ([`Graph`]) of the operators twinfer knows, their shape rules,
//! and the encoding to and decoding from ONNX model bytes.
//!
//! This crate knows nothing of backends, cases or reference semantics. Operator and attribute names are ONNX's own.

mod attributes;
mod census;
mod decode;
mod display;
mod dtype;
mod encode;
mod geometry;
mod graph;
mod interface;
mod numbers;
mod op;
mod ops;
mod outline;
mod proto;
mod rule;
mod shapes;
mod tensor;
mod window;

pub use decode::{DecodeError, MAX_MODEL_BYTES, Unsupported};
pub use dtype::DataType;
pub use geometry::{Axis, Geometry};
pub use graph::{Dim, Graph, Initializer, Node, ValueInfo};
pub use interface::Interface;
pub use op::{
    AutoPad, BatchNormalization, Concat, Conv, ConvTranspose, DequantizeLinear, MaxPool, Op, QuantizeLinear,
};
pub use ops::resolve_axis;
pub use outline::{Outline, OutlineNode};
pub use rule::{Broken, Rule, RuleViolation};
pub use shapes::{MAX_ELEMENTS, MAX_OPSET, MAX_RANK, MIN_OPSET, Shapes, TensorType, infer_shapes};
pub use tensor::{InvalidTensor, Tensor, TensorData, element_count, volume};
pub use window::{Channels, Window, WindowMut};
