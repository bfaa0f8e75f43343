use twinfer_case::{Divergence, Signature, VariantInfo};

use crate::{causes::leads, crew::Tried, docket::Place, symptom::Symptom};

/// What one variant did with a case where that diverges, for one of the causes.
pub struct Suspect {
    /// The variant's place among the campaign's.
    pub variant: usize,
    /// The case, and what was observed.
    pub tried: Tried,
    /// The divergence that gives the symptom; those before it have other causes.
    pub lead: usize,
    /// That of this divergence.
    pub symptom: Symptom,
    /// The signature before anything was minimised.
    pub provisional: Signature,
    /// The cases that the worker ran before, oldest first, as places in the campaign.
    pub preceding: Vec<u64>,
}

impl Suspect {
    /// The suspects that a case is on the variant at `variant`, one a cause.
    pub fn all(info: &VariantInfo, variant: usize, tried: &Tried, preceding: &[u64]) -> Vec<Self> {
        let suspect = |lead| {
            let symptom = Symptom::of(&tried.divergences()[lead], tried);
            let provisional = symptom.signature(info, &tried.prepared);
            Self { variant, tried: tried.clone(), lead, symptom, provisional, preceding: preceding.to_vec() }
        };
        leads(tried.divergences()).into_iter().map(suspect).collect()
    }

    /// The divergence that makes it one.
    pub fn lead(&self) -> Option<&Divergence> {
        self.tried.divergences().get(self.lead)
    }

    /// Its place, where its case is the one at `index`.
    pub const fn place(&self, index: u64) -> Place {
        (index, self.variant, self.lead)
    }
}
