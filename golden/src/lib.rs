//! Reference semantics of the operators twinfer knows, and their error bounds.

mod batch_normalization;
mod concat;
mod convolution;
mod defects;
mod elementwise;
mod evaluate;
mod format;
mod pooling;
mod quantization;
mod reference;
mod rules;
mod step;
mod taps;
mod value;

pub use defects::Defect;
pub use evaluate::{Evaluation, MAX_MULTIPLY_ACCUMULATES, Unknown, evaluate, evaluate_with};
pub use reference::{Agreement, Reference};
pub use rules::{Entry, rules};
