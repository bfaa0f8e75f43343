//! ONNX graphs: a typed intermediate representation ([`Graph`]) of the operators twinfer knows, their shape rules,
//! and the encoding to and decoding from ONNX model bytes.
//!
//! This crate knows nothing of backends, cases or reference semantics. Operator and attribute names are ONNX's own.
//!
//! # Adding an operator
//!
//! 1. `src/op.rs`: a variant of [`Op`] and a struct for its attributes, in alphabetical order; its name in
//!    [`Op::op_type`].
//! 2. `src/attributes.rs`: the attributes in `write` and in `read`; `tests/round_trip.rs`: a strategy for it in `op`.
//! 3. `src/ops/`: a file with its type and shape rule, called from `ops/mod.rs`. A rule that ONNX states and [`Rule`] lacks
//!    is a row in `src/rule.rs`, with a graph that breaks it in `tests/rules.rs`.
//! 4. `golden/src/`: a file with its semantics and error bound, called from `evaluator.rs`; what ONNX leaves open about it
//!    is a row in `rules.rs`.
//! 5. `golden/tests/node_tests.rs`: its name in `OPERATORS`; review the snapshot, which lists ONNX's own tests of it.
//! 6. `TWINFER_UPDATE_DOCS=1 cargo test -p twinfer-golden` brings docs/semantics.md up to date.

mod attributes;
mod decode;
mod dtype;
mod encode;
mod geometry;
mod graph;
mod numbers;
mod op;
mod ops;
mod proto;
mod rule;
mod shapes;
mod tensor;

pub use decode::{DecodeError, MAX_MODEL_BYTES, Unsupported};
pub use dtype::DataType;
pub use geometry::{Axis, Geometry};
pub use graph::{Dim, Graph, Initializer, Node, ValueInfo};
pub use op::{
    AutoPad, BatchNormalization, Concat, Conv, ConvTranspose, DequantizeLinear, MaxPool, Op, QuantizeLinear,
};
pub use ops::resolve_axis;
pub use rule::{Broken, Rule, RuleViolation};
pub use shapes::{MAX_ELEMENTS, MAX_OPSET, MIN_OPSET, Shapes, TensorType, infer_shapes};
pub use tensor::{InvalidTensor, Tensor, TensorData, element_count};
