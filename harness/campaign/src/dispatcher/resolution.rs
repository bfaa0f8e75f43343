use twinfer_case::{Divergence, Mask};
use twinfer_triage::Suspect;

use crate::judging::JudgedCase;

/// What a divergence turned out to be.
pub struct Resolution {
    /// The divergences as they were confirmed.
    pub divergences: Vec<Divergence>,
    /// The findings that the case shows, by their places.
    pub findings: Vec<usize>,
    /// How it shows the last of them, if that is masked.
    pub mask: Option<Mask>,
}

impl Resolution {
    /// The suspect shows the finding at `index` again.
    pub fn repeated(index: usize, suspect: &Suspect) -> Self {
        Self { divergences: suspect.divergences().to_vec(), findings: vec![index], mask: None }
    }
}

impl JudgedCase {
    /// The finding that a lower rung showed in the same case, where a suspect shows the same again.
    pub fn below(&self, suspect: &Suspect) -> Option<usize> {
        self.concluded.iter().find(|(lower, _)| suspect.repeats(lower)).map(|(_, finding)| *finding)
    }
}
