//! Operations on single cases: what `check`, `replay`, `minimize` and `repro` do, and what the facade crate offers to tests.
//!
//! [`Targets`] are variants with a worker each. They check a case, replay a finding, minimize a case that diverges, explain a finding,
//! survey many cases, and compare the variants with each other on a model that golden does not support ([`OpaqueModel`]).
//!
//! ```no_run
//! use twinfer_case::TrustedVariant;
//! use twinfer_targets::{Targets, read_case};
//! use twinfer_workers::{Deadlines, WorkerCommand};
//!
//! let worker = WorkerCommand { args: vec!["worker".to_owned()], ..WorkerCommand::new("/usr/bin/twinfer") };
//! let targets = Targets::start(&[TrustedVariant::vouch("ort:cpu".parse()?)], &worker, Deadlines::default())?;
//! for record in targets.check(&read_case("model.onnx".as_ref())?)? {
//!     println!("{}: {:?}", record.variant, record.verdict);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod case;
mod check;
mod comparison;
mod error;
mod explain;
mod fewest_options;
mod minimize;
mod opaque_model;
mod remaining;
mod replay;
mod sanitizer;
mod survey;
mod targets;

pub use case::{expected, read_case, write_case};
pub use error::TargetError;
pub use explain::Explanation;
pub use fewest_options::reduce_options;
pub use minimize::{Explained, Minimal, Minimization};
pub use opaque_model::OpaqueModel;
pub use remaining::Remaining;
pub use replay::Replay;
pub use sanitizer::{Sanitizer, SanitizerReport, SanitizerTool};
pub use targets::Targets;
