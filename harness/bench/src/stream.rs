use twinfer_case::{Case, Distribution};
use twinfer_generators::{CaseStream, Family};

/// The cases that a campaign of these families generates in the baseline distribution, in the same order.
pub struct Stream(Vec<CaseStream>);

impl Stream {
    pub fn new(families: &[Family], seed: u64) -> Self {
        Self(families.iter().map(|family| family.stream(Distribution::Baseline, seed)).collect())
    }

    /// An endless iterator over every `count`-th case, starting with the one at `first`.
    pub fn cases(&self, first: u64, count: u64) -> impl Iterator<Item = Case> {
        let indices = (0..).map(move |turn: u64| first + turn * count);
        indices.map(|index| self.0[(index % self.0.len() as u64) as usize].case(index))
    }
}
