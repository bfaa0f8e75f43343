//! ONNX graphs: a typed representation ([`Graph`]) of the operators that twinfer knows, their validity rules
//! ([`infer_shapes`], [`Rule`]), and their encoding as ONNX model bytes.
//!
//! Operators and attributes have ONNX's own names. [`Op::window`] resolves the attributes of convolutions;
//! [`Graph::producer`], [`Graph::readers`] and [`Graph::initializer`] find what belongs to a value. [`Interface`],
//! [`Outline`] and [`PartialGraph`] read models with any operators. This crate knows nothing about backends, cases or reference semantics.
//!
//! ```
//! use twinfer_onnx::{
//!     Conv, DataType, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo, infer_shapes,
//! };
//!
//! let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
//! let weights = Tensor { shape: vec![1, 1, 2], data: TensorData::Float(vec![1.0, 2.0]) };
//! let graph = Graph {
//!     opset: 22,
//!     inputs: vec![value("x")],
//!     initializers: vec![Initializer { name: "w".to_owned(), tensor: weights }],
//!     nodes: vec![Node {
//!         name: "conv".to_owned(),
//!         op: Op::Conv(Conv { strides: Some(vec![2]), ..Conv::default() }),
//!         inputs: vec!["x".to_owned(), "w".to_owned()],
//!         outputs: vec!["y".to_owned()],
//!     }],
//!     outputs: vec![value("y")],
//! };
//! let shapes = infer_shapes(&graph, &[vec![1, 1, 6]])?;
//! assert_eq!(shapes.outputs()[0].shape, [1, 1, 3]);
//! assert_eq!(graph.to_string(), "Conv(strides=[2]) x=f32 w:f32[1,1,2]");
//! assert_eq!(Graph::decode(&graph.encode())?, graph);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attributes;
mod census;
mod closeness;
mod constant;
mod dataflow;
mod decode;
mod decode_error;
mod display;
mod dtype;
mod encode;
mod external_data;
mod geometry;
mod graph;
mod interface;
mod numbers;
mod observed;
mod op;
mod ops;
mod outline;
mod partial_graph;
mod proto;
mod rule;
mod shapes;
mod tensor;
mod tensor_proto;
mod tensor_type;
mod text;
mod window;
mod written_attribute;

pub use dataflow::{Dataflow, FlowNode};
pub use decode_error::{AttributeFault, DecodeError, MAX_MODEL_BYTES, Unsupported};
pub use dtype::DataType;
pub use external_data::{ExternalData, with_external_data};
pub use geometry::{Axis, Geometry};
pub use graph::{Dim, Graph, Initializer, Node, ValueInfo};
pub use interface::Interface;
pub use observed::with_outputs;
pub use op::{
    AutoPad, AveragePool, BatchNormalization, Concat, Conv, ConvTranspose, DequantizeLinear, LeakyRelu,
    MaxPool, Op, QuantizeLinear, Transpose,
};
pub use ops::resolve_axis;
pub use outline::{Outline, OutlineNode};
pub use partial_graph::{PartialGraph, PartialNode};
pub use rule::{Broken, Place, Rule, RuleViolation};
pub use shapes::{MAX_ELEMENTS, MAX_OPSET, MAX_RANK, MIN_OPSET, Shapes, infer_misread_shapes, infer_shapes};
pub use tensor::{InvalidTensor, Tensor, TensorData, element_count, position, volume};
pub use tensor_type::TensorType;
pub use text::GraphText;
pub use window::{Channels, Window, WindowMut};
pub use written_attribute::WrittenAttribute;
