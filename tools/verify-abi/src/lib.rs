//! Checks nvinfer's tables against TensorRT's headers.
//!
//! clang compiles a C++ caller for every method of the tables. The optimized LLVM IR of the caller shows which pointer
//! of the object it follows, which entry of the vtable it loads, and how arguments and result are passed. Enumerators,
//! struct layouts, exported C functions and the length of a logger's vtable are read from the same IR. No part of the
//! headers is stored.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use twinfer_verify_abi::{Comparison, Headers};
//!
//! let headers = Headers::read(Path::new("TensorRT-10.7/include"), Path::new("clang++"))?;
//! let comparison = Comparison::new(&headers)?;
//! print!("{comparison}");
//! assert!(comparison.differences.is_empty());
//! # Ok::<(), twinfer_verify_abi::Error>(())
//! ```

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
mod vtables;

pub use comparison::{Comparison, Difference};
pub use coverage::Coverage;
pub use crate_source::CrateSource;
pub use error::{Error, Result};
pub use headers::Headers;
pub use vtables::{NumberedLibrary, VtableLengths, markdown};
