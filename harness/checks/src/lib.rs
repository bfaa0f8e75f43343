//! Checks: comparisons over the observations of a case, the verdict, and the diagnosis.
//!
//! A *check* is one comparison over the [`Evidence`] about one variant on one case; each check is one file. [`judge`] runs the
//! checks and draws the verdict, and [`Evaluated`] adds the diagnosis. Which numbers agree is decided in one place,
//! [`twinfer_golden::Reference::compare`]. On a model that golden does not support, [`judge_together`] compares variants with each
//! other, within the tolerances of the module `tolerance`.
//!
//! ```
//! use twinfer_case::{Observation, Outcome, Stage, Verdict};
//! use twinfer_checks::{Answer, Question, Refusals, judge_together};
//!
//! let accepted = Observation::new(Stage::Execute, Outcome::Ok);
//! let hung = Observation::new(Stage::Build, Outcome::TimedOut);
//! let (ort, trt) = ("ort:cpu".parse().expect("a variant"), "trt".parse().expect("a variant"));
//! let answers =
//!     [(&ort, &accepted), (&trt, &hung)].map(|(variant, observation)| Answer {
//!         variant,
//!         reaches: Stage::Execute,
//!         observation,
//!         repeats: Vec::new(),
//!     });
//! let unknown = "golden does not support the operator Einsum";
//! let question = Question { unknown, sources: &[], refusals: Refusals::Disagree };
//! let judged = judge_together(&answers, question);
//! assert!(matches!(judged[1].verdict, Verdict::Diverges(_)), "a hang needs no reference");
//! ```

mod acceptance;
mod bounds;
mod case_references;
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
mod output_source;
mod placement;
mod precision;
mod randomness;
mod report;
mod saturation;
mod shape;
mod state;
mod tolerance;
mod values;

pub use case_references::CaseReferences;
pub use comparison::{Answer, Question, Refusals, judge_together, outputs_agree};
pub use diagnosis::{Prediction, error_left, is_visible, largest_difference};
pub use disagreement::disagreement;
pub use evaluated::{Answers, Evaluated, record};
pub use evidence::{Evidence, References, RunReference};
pub use judge::{Judgement, judge};
pub use oracle::{Oracle, expected_outputs, golden, references};
pub use output_source::OutputSource;
pub use precision::fallbacks;
