//! Checks: one comparison each over the observations of a case.
//!
//! A *check* looks at the [`Evidence`] about one variant on one case and reports what it finds to a [`Report`]. One
//! file a check; [`judge`] runs them and draws the verdict. Which numbers agree is decided in one place,
//! [`twinfer_golden::Reference::compare`]; for two answers to a model that golden does not know, which
//! [`judge_together`] compares, in another, the module `tolerance`.

mod acceptance;
mod comparison;
mod determinism;
mod diagnosis;
mod disagreement;
mod dtype;
mod ending;
mod evaluated;
mod evidence;
mod judge;
mod log;
mod oracle;
mod placement;
mod precision;
mod report;
mod shape;
mod state;
mod tolerance;
mod values;

pub use comparison::{Answer, judge_together};
pub use disagreement::disagreement;
pub use evaluated::{Answers, Evaluated, record};
pub use evidence::{Evidence, References, RunReference};
pub use judge::{Judgement, judge};
pub use oracle::{Oracle, expected_outputs, golden_for, references};
