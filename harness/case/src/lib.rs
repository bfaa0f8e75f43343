//! The leaf types everything else speaks in: what is tried ([`Case`]), what a backend did with it ([`Observation`])
//! and what follows from that ([`Verdict`]).
//!
//! Types here hold data and their own invariants; they know no backend and compute no reference.

mod case;
mod observation;
mod variant;
mod verdict;

pub use case::{
    Case, CaseHash, Expectation, InvalidHash, Provenance, Recipe, Regime, Request, Run, TensorSource,
};
pub use observation::{
    ChosenPrecision, LayerInfo, LogLine, Observation, Outcome, RunOutput, Severity, Stage, Timing,
};
pub use variant::{Backend, InvalidVariant, Variant};
pub use verdict::{Blame, Divergence, Kind, Verdict};
