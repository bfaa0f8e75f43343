//! Minimization: a smaller case that still shows what a larger one showed.
//!
//! A *pass* proposes candidates, each the case with one thing made simpler. A [`Reducer`] hands candidates out in
//! pass order and is told which of them still fail; whoever runs them may do so in parallel, since only the first
//! success in order counts. What a candidate must still show is the caller's to say: this crate knows no backend.
//!
//! Every candidate is as valid as the case it comes from, or breaks the same rule; none is empty; and each success
//! makes the case strictly smaller, so that minimization ends.

mod complexity;
mod edit;
mod fit;
mod passes;
mod reducer;

pub use complexity::Complexity;
pub use reducer::{Minimized, Reducer, Reduction, minimize};
