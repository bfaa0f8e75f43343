//! Judging a model segment by segment, and finding the one that is wrong.
//!
//! A *segment* is the part of a graph between values that a backend returned. Golden evaluates it on the inputs that the backend
//! itself computed, so that its bound is that of a few operators, whatever the depth of the model, and operators that golden does
//! not know are stepped over. [`examine`] chooses the values to observe, judges every segment, and looks for the [`Culprit`]: the first
//! one that is wrong. What runs the model is a function, so that this crate starts no process.
//!
//! Observing a value changes what a backend may fuse. So values inside of what backends fuse, such as those between the quantizers of a quantized
//! operator, are observed only to look into a segment that is wrong, and outputs are compared with those of the model that was not observed: if they
//! differ, the values between are observed in turn until the nodes are found that are right apart and wrong together
//! ([`Shown::Fused`]).
//!
//! [`Culprit`]: twinfer_case::Culprit
//! [`Shown::Fused`]: twinfer_case::Shown::Fused

mod blindness;
mod composition;
mod conclusion;
mod coverage;
mod examination;
mod exposure;
mod random_rounding;
mod segment;
mod structure;
mod suspicion;
mod values;

pub use blindness::{blindness, is_exact};
pub use conclusion::{are_unexplained, conclude, is_documented};
pub use examination::{Cutting, Examination, Found, Subject, examine, has_segments, has_supported_part};
pub use exposure::exposed;
pub use segment::named;
