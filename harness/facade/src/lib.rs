//! Conformance of inference backends as part of your own `cargo test`.
//!
//! ```no_run
//! use twinfer::{Conformance, Family};
//!
//! let conformance = Conformance::of(&["ort:cpu,opt=off"])?;
//! conformance.check_all(Family::Deconv.cases(0).take(256))?;
//! # Ok::<(), twinfer::Error>(())
//! ```
//!
//! A test that fails prints at most 15 lines: what diverges, why, and the smallest case that shows it in ONNX's text form. A test in
//! which a variant was compared on none of the cases fails too: see [`Conformance`].
//!
//! - Your own model: [`read_case`], or [`Case::from_onnx`] for one in memory, with inputs of your own by [`Case::with_inputs`].
//! - Bugs that you know: [`Conformance::with_known`].
//! - Your own tolerance: [`Conformance::outputs`] and [`expected`] are tensors that approx's `assert_relative_eq!` and
//!   `assert_ulps_eq!` compare.
//! - proptest: [`Space::cases`](Space) is a strategy, and [`Conformance::check`] the check to call; a [`Case`] that fails is shrunk by twinfer.
//!
//! Backends run in worker processes. A worker is the command `twinfer`: the program that `TWINFER_PROGRAM` names, or else `twinfer`
//! beside the test binary or on `PATH`. Without the command, a test target with `harness = false` can be its own worker: see
//! [`become_worker_if_asked`]. Libraries of backends that are missing are installed when a test first needs them.

mod conformance;
mod error;
mod failure;
mod outputs;
mod program;
mod read;

pub use conformance::Conformance;
pub use error::Error;
pub use failure::Failure;
pub use outputs::{Outputs, expected};
pub use program::become_worker_if_asked;
pub use read::read_case;
pub use twinfer_case::{
    Blame, Case, Culprit, Description, Diagnosis, Divergence, Expectation, Fallback, FallbackReason,
    FallbackValues, InvalidVariant, Kind, NamedNode, Provenance, Recipe, Request, Run, Stage, TensorSource,
    UnfitInputs, Variant, VariantInfo,
};
pub use twinfer_generators::{Cases, Family, InvalidSpace, Space};
pub use twinfer_onnx::{
    DataType, DecodeError, Dim, Graph, Initializer, InvalidTensor, Node, Op, Tensor, TensorData, ValueInfo,
};
