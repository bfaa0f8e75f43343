//! From a diverging case to a finding: what is the smallest case that shows the divergence, is it confirmed in a worker that
//! has run nothing else, and is it a bug that is known already?
//!
//! A [`Suspect`] is what one variant did with one case if that diverges, for one of its causes. The [`Investigator`] makes it
//! smaller, confirms it, and gives what is to be kept; [`Findings`] holds what was found so far, and the [`Catalog`] recognizes
//! it in other cases.

mod catalog;
mod causes;
mod classes;
mod dedup;
mod error;
mod findings;
mod investigation;
mod reduction;
mod suspect;
mod symptom;

pub use catalog::{Catalog, Identity, may_be_same_finding};
pub use classes::classes;
pub use dedup::Dedup;
pub use error::TriageError;
pub use findings::Findings;
pub use investigation::{
    Cancellation, Confirmed, Effort, Investigator, Reduced, TriageOutcome, TriageResult, finding, sighting,
};
pub use reduction::{DivergingCase, Reduction, confirm_smaller};
pub use suspect::{CaseSource, Place, Suspect};
pub use symptom::Symptom;
