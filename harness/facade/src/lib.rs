//! Conformance of inference backends as part of your own `cargo test`.
//!
//! Backends run in worker processes. A test binary can be its own worker: a test target with `harness = false` calls
//! [`become_worker_if_asked`] before anything else. Otherwise the worker is the program that `TWINFER_PROGRAM` names, or
//! `twinfer` beside the test binary.
//!
//! ```no_run
//! use proptest::{prop_assert, proptest};
//! use twinfer::{Conformance, Space};
//!
//! fn main() {
//!     twinfer::become_worker_if_asked();
//!     let conformance = Conformance::of(&["ort:cpu,opt=off"]).expect("its library is installed");
//!     proptest!(|(case in Space::convolutions().cases())| {
//!         let divergences = conformance.check(&case).expect("the workers answer");
//!         prop_assert!(divergences.is_empty(), "{divergences:?}");
//!     });
//! }
//! ```
//!
//! A test fails if a variant was compared on none of its cases: see [`Conformance`]. proptest minimizes a case that diverges. `twinfer backends install` installs libraries.

mod conformance;
mod error;
mod program;

pub use conformance::Conformance;
pub use error::Error;
pub use program::become_worker_if_asked;
pub use twinfer_case::{Case, Divergence, Kind, Variant, Verdict};
pub use twinfer_generators::{Cases, Family, InvalidSpace, Space};
