//! From a diverging case to a finding: what is the smallest case that shows the divergence, is it confirmed in a worker that
//! has run nothing else, and is it a bug that is known already?
//!
//! A [`Suspect`] is what one variant did with one case if that diverges, for one of its causes. The [`Investigator`] makes it
//! smaller, confirms it, and gives what is to be kept; [`Findings`] holds what was found so far, and the [`Catalog`] recognizes
//! it in other cases.

mod catalog;
mod causes;
mod claims;
mod classes;
mod error;
mod findings;
mod investigation;
mod reduction;
mod suspect;
mod symptom;

pub use catalog::{Catalogue, Identity, may_be_one};
pub use claims::Claims;
pub use classes::classes;
pub use error::TriageError;
pub use findings::Findings;
pub use investigation::{Course, Effort, Inquest, Investigator, Outcome, Proof, Reduced, finding, sighting};
pub use reduction::{Reduction, Specimen, confirm_smaller};
pub use suspect::{CaseSource, Place, Suspect};
pub use symptom::Symptom;
