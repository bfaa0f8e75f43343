use twinfer_case::{Divergence, Mask};
use twinfer_triage::{MinimalCase, Suspect};

/// What a divergence turned out to be.
pub struct Resolution {
    /// The divergences as they were confirmed.
    pub divergences: Vec<Divergence>,
    /// The findings that the case shows, by their index in the catalog.
    pub findings: Vec<usize>,
    /// How the case shows the last of them masked; `None` if it shows plainly.
    pub mask: Option<Mask>,
    /// What the suspect was reduced to, by which later ones are recognized, and the index of the finding that it shows.
    pub learned: Option<(usize, MinimalCase)>,
}

impl Resolution {
    /// The suspect shows the finding at `index` again.
    pub fn repeated(index: usize, suspect: &Suspect) -> Self {
        Self { divergences: suspect.divergences().to_vec(), findings: vec![index], mask: None, learned: None }
    }
}
