//! Checks nvinfer's tables against TensorRT's headers.
//!
//! clang compiles a C++ function for every method of the tables, as a user's code would call it, and what the
//! optimised function does is read from its LLVM IR: which pointer of the object it follows, which entry of the
//! vtable it loads, and how arguments and result travel. Enumerators, struct layouts, exported C functions and the
//! shape of a logger's vtable are read from the same IR. Nothing of the headers is kept.

mod ast;
mod clang;
mod comparison;
mod coverage;
mod crate_source;
mod declarations;
mod error;
mod headers;
mod ir;
mod probe;

pub use comparison::{Comparison, Difference};
pub use coverage::Coverage;
pub use crate_source::CrateSource;
pub use error::{Error, Result};
pub use headers::Headers;
