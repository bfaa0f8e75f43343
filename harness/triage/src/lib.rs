//! Triage: from a diverging case to a finding. An investigation reduces the case to the smallest one that shows the
//! divergence, confirms that one in a worker that has run no other case, and finds out whether the bug is known already.
//!
//! A [`Suspect`] is what one variant did with one case that diverges, for one of the causes. The [`Investigator`] reduces and
//! confirms it, and gives a [`TriageResult`]. [`Findings`] holds the findings of the campaign, and the [`Catalog`] recognizes
//! them in other cases:
//!
//! ```
//! use twinfer_case::{Cause, Kind, Signature, Stage};
//! use twinfer_triage::{Catalog, Identity};
//!
//! let signature = |classes: &[&str]| Signature {
//!     backend: "trt".parse().expect("a backend"),
//!     stage: Stage::Build,
//!     kind: Kind::BuildFailure,
//!     cause: Cause::Graph(classes.iter().map(|&class| class.to_owned()).collect()),
//!     error: None,
//! };
//! let mut catalog = Catalog::default();
//! let classes = vec!["ConvTranspose".to_owned(), "dilations".to_owned()];
//! let signature_of_minimal = signature(&["ConvTranspose", "dilations"]);
//! let identity = Identity {
//!     signature: signature_of_minimal,
//!     classes,
//!     broken_by: None,
//!     outcomes: Vec::new(),
//!     trigger: None,
//!     edits: Vec::new(),
//!     refuted: Vec::new(),
//!     nodes: Vec::new(),
//! };
//! let found = catalog.add(identity.into());
//! // a larger case with all of the finding's classes most likely shows the finding
//! assert_eq!(catalog.find_likely(&signature(&["ConvTranspose", "Relu", "dilations"]).into()), Some(found));
//! assert_eq!(catalog.find_likely(&signature(&["ConvTranspose", "strides"]).into()), None);
//! ```

mod broken_by;
mod cancellation;
mod catalog;
mod causes;
mod classes;
mod composition;
mod culprit;
mod dedup;
mod diverging_case;
mod error;
mod finding;
mod findings;
mod hangs;
mod identity;
mod inside;
mod investigation;
mod isolation;
mod likeness;
mod matching;
mod minimal_case;
mod neighbors;
mod pairs;
mod predictions;
mod provisional;
mod recognition;
mod recurrence;
mod reduction;
mod repeats;
mod resemblance;
mod runs_apart;
mod scrutiny;
mod sites;
mod steadiness;
mod study;
mod suspect;
mod symptom;
mod triage_result;
mod trials;
mod witness;

pub use broken_by::BrokenBy;
pub use cancellation::{Cancellation, Purpose};
pub use catalog::Catalog;
pub use classes::classes;
pub use dedup::Dedup;
pub use diverging_case::DivergingCase;
pub use error::TriageError;
pub use finding::{finding, sighting};
pub use findings::Findings;
pub use hangs::{FEWEST_HANGS, RanCase, hang_conditions, predicted_hang};
pub use identity::{Identity, is_same_bug};
pub use inside::{Round, circumstances};
pub use investigation::Investigator;
pub use matching::Matching;
pub use minimal_case::MinimalCase;
pub use neighbors::Neighbors;
pub use provisional::Provisional;
pub use recognition::{Difference, Place, Places, Recognition, Recognized, is_known_as};
pub use recurrence::{Recurrence, Repeat, classify};
pub use reduction::{Reduction, confirm_smaller};
pub use repeats::{Repeater, Repeats};
pub use resemblance::{may_be_same_finding, may_share_mistake};
pub use scrutiny::{Scrutiny, Triageable, Whole};
pub use study::{Experiments, Study, is_shown_by_others};
pub use suspect::{CaseSource, Origin, Suspect, SuspectId};
pub use symptom::Symptom;
pub use triage_result::{Confirmed, Effort, Reduced, TriageOutcome, TriageResult};
