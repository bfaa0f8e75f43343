use twinfer_case::{Divergence, Signature};

use crate::{crew::Tried, symptom::Symptom};

/// What one variant did with a case where that diverges.
pub struct Suspect {
    /// The variant's place among the campaign's.
    pub variant: usize,
    /// The case, and what was observed.
    pub tried: Tried,
    /// That of the first divergence.
    pub symptom: Symptom,
    /// The signature before anything was minimised.
    pub provisional: Signature,
    /// The cases that the worker ran before, oldest first, as places in the campaign.
    pub preceding: Vec<u64>,
}

impl Suspect {
    /// The divergence that makes it one.
    pub fn lead(&self) -> Option<&Divergence> {
        self.tried.divergences().first()
    }
}
