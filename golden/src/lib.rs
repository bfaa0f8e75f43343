//! The reference semantics of the ONNX operators that twinfer knows, with error bounds.
//!
//! Golden decides which backend is wrong. [`evaluate`] computes a graph in f64 by plain loops, independently of every
//! backend, and gives a [`Reference`] for each output: the exact elements and the largest error that a conforming backend
//! may make in each. Points on which ONNX is silent or contradicts itself are named by [`rules()`].
//!
//! A [`Mutant`] is golden with one fact changed, such as the padding swapped or the bias dropped. The mutants that
//! reproduce a backend's wrong output say why it is wrong. An [`Edit`] is a mutant that is not listed, but composed: any input, number or
//! step of an operator, and what may be done otherwise with it.
//!
//! ```
//! use twinfer_golden::{Agreement, evaluate};
//! use twinfer_onnx::{Conv, DataType, Graph, Initializer, Node, Op, Tensor, TensorData, ValueInfo};
//!
//! let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
//! let floats = |shape: &[usize], values: &[f32]| Tensor {
//!     shape: shape.to_vec(),
//!     data: TensorData::Float(values.to_vec()),
//! };
//! let graph = Graph {
//!     opset: 22,
//!     inputs: vec![value("x")],
//!     initializers: vec![Initializer { name: "w".to_owned(), tensor: floats(&[1, 1, 2], &[1.0, 2.0]) }],
//!     nodes: vec![Node {
//!         name: "conv".to_owned(),
//!         op: Op::Conv(Conv::default()),
//!         inputs: vec!["x".to_owned(), "w".to_owned()],
//!         outputs: vec!["y".to_owned()],
//!     }],
//!     outputs: vec![value("y")],
//! };
//! let evaluation = evaluate(&graph, &[floats(&[1, 1, 3], &[3.0, 4.0, 5.0])])?;
//! let y = &evaluation.outputs[0];
//! assert_eq!((&y.shape[..], &y.values[..]), (&[1, 1, 2][..], &[11.0, 14.0][..]));
//! assert_eq!(y.compare(0, 11.0), Agreement::Exact);
//! assert_eq!(y.compare(0, 12.0), Agreement::Wrong(1.0));
//! # Ok::<(), twinfer_golden::Unknown>(())
//! ```
//!
//! # Two regimes
//!
#![doc = include_str!("regimes.md")]

mod activation;
mod arithmetic;
mod attributes;
mod batch_normalization;
mod combinations;
mod concat;
mod convolution;
mod edit;
mod edited;
mod elementwise;
mod evaluate;
mod evaluation;
mod evaluator;
mod format;
mod grid;
mod hypothesis;
mod integer_operand;
mod integer_pairs;
mod limits;
mod mutant_pair;
mod mutants;
mod partial_sums;
mod pooling;
mod quantization;
mod random_rounding;
mod reduction;
mod reference;
mod rounding;
mod rules;
mod scope;
mod semantics;
mod special;
mod successive_pairs;
mod taps;
mod transformed;
mod transposition;
mod unknown;
mod value;

pub use combinations::Combination;
pub use edit::{Edit, EditPair, Operator};
pub use evaluate::{
    evaluate, evaluate_as, evaluate_edited, evaluate_returned, evaluate_rounding_randomly, evaluate_with,
    evaluate_within,
};
pub use evaluation::Evaluation;
pub use hypothesis::Hypothesis;
pub use limits::Limits;
pub use mutant_pair::MutantPair;
pub use mutants::{Mutant, Nature};
pub use reference::{Agreement, Reference};
pub use rules::{Entry, RANDOM_VALUES, SCALE_NOT_POSITIVE, rules};
pub use twinfer_case::{Algorithms, Arithmetic, Operands, Singles, Subnormals, Sums};
pub use unknown::Unknown;
