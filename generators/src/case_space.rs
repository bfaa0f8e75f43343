use twinfer_case::Case;

use crate::Choices;

/// A source of generated cases.
pub trait CaseSpace: Send + Sync {
    /// Generates one case. Equal choices give equal cases.
    fn draw(&self, choices: &mut Choices) -> Case;
}
