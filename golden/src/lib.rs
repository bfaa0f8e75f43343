//! Reference semantics of the operators twinfer knows, and their error bounds.
//!
//! Golden evaluates a graph in f64 by plain loops and says, element by element, how far a conforming backend may be
//! off ([`Reference`]). Points that ONNX leaves open are named ([`rules()`]); mistakes can be made on purpose
//! ([`Mutant`]).
//!
//! # Two regimes
//!
#![doc = include_str!("regimes.md")]

mod arithmetic;
mod attributes;
mod batch_normalization;
mod concat;
mod convolution;
mod elementwise;
mod evaluate;
mod evaluator;
mod explanations;
mod format;
mod integer_pairs;
mod limits;
mod mutants;
mod pooling;
mod quantization;
mod reference;
mod rounding;
mod rules;
mod semantics;
mod step;
mod taps;
mod value;

pub use evaluate::{Evaluation, Unknown, evaluate, evaluate_as, evaluate_with, evaluate_within};
pub use explanations::Explanation;
pub use limits::Limits;
pub use mutants::{Mutant, Nature};
pub use reference::{Agreement, Reference};
pub use rules::{Entry, rules};
pub use twinfer_case::{Arithmetic, Operands, Subnormals, Sums};
