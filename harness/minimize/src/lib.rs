//! Minimization: find a smaller case that still shows what a larger one showed.
//!
//! A *pass* proposes candidates, each the case with one thing made simpler. A [`Reducer`] proposes candidates in pass
//! order and is given the first that still fails; the caller may run candidates in parallel, since only the first success
//! in order counts. The caller decides what a candidate must show: this crate knows no backend.
//!
//! Every candidate is as valid as the original case, or breaks the same rule; none is empty; and each success makes the
//! case strictly less complex ([`Complexity`]), so minimization ends.
//!
//! ```
//! use twinfer_case::{Case, Expectation, Request, Run, TensorSource};
//! use twinfer_minimize::minimize;
//! use twinfer_onnx::{DataType, Graph, Node, Op, Tensor, TensorData, ValueInfo};
//!
//! let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
//! let node = |op, input: &str, output: &str| Node {
//!     name: output.to_owned(),
//!     op,
//!     inputs: vec![input.to_owned()],
//!     outputs: vec![output.to_owned()],
//! };
//! let x = Tensor { shape: vec![2, 3], data: TensorData::Float(vec![0.5; 6]) };
//! let case = Case {
//!     graph: Graph {
//!         opset: 22,
//!         inputs: vec![value("x")],
//!         initializers: vec![],
//!         nodes: vec![node(Op::Identity, "x", "a"), node(Op::Relu, "a", "y")],
//!         outputs: vec![value("y")],
//!     },
//!     request: Request { precision: DataType::Float, tf32: false },
//!     runs: vec![Run { inputs: vec![TensorSource::Data(x)] }],
//!     expectation: Expectation::Valid,
//!     provenance: None,
//! };
//! let has_relu = |case: &Case| case.graph.nodes.iter().any(|node| node.op == Op::Relu);
//! let minimized = minimize(&case, 1000, 8, |candidates| candidates.iter().position(has_relu))?;
//! assert_eq!(minimized.case.graph.nodes.len(), 1);
//! assert!(minimized.complete);
//! # Ok::<(), twinfer_case::OversizedRecipe>(())
//! ```

mod complexity;
mod edit;
mod fit;
#[cfg(test)]
mod fixture;
mod growth;
mod passes;
mod reducer;
mod selection;

pub use complexity::Complexity;
pub use edit::prune;
pub use growth::grown;
pub use reducer::{Minimized, Reducer, Reduction, minimize};
