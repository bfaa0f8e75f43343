//! One-case operations: what `check`, `replay`, `minimize` and `repro` do, and what the facade crate offers to tests.
//!
//! [`Targets`] are variants with a worker each. They check a case, replay a finding, minimize what diverges, survey many
//! cases, and compare variants with each other on a model that golden does not know ([`Opaque`]).

mod case;
mod comparison;
mod error;
mod steps;
mod survey;
mod targets;

pub use case::{read_case, write_case};
pub use comparison::Opaque;
pub use error::TargetError;
pub use steps::{Minimal, Replay};
pub use targets::Targets;
