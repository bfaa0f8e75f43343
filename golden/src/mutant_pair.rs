use std::fmt;

use crate::{Combination, Mutant, Nature};

/// Two mutants at once: mistakes that have nothing to do with each other, and that one graph shows together.
///
/// `Display` gives its name, those of the mutants with a plus sign between them.
///
/// ```
/// use twinfer_golden::{Mutant, MutantPair};
///
/// let pair = MutantPair::new(Mutant::OutputShapeSplitSwapped, Mutant::DequantizedAlongAxis1);
/// let pair = pair.expect("neither is of precision");
/// assert_eq!(pair.to_string(), "output-shape-split-swapped+dequantized-along-axis-1");
/// assert_eq!(MutantPair::from_name(&pair.to_string()), Some(pair));
/// assert_eq!(MutantPair::new(Mutant::BiasDropped, Mutant::BiasDropped), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MutantPair([Mutant; 2]);

impl MutantPair {
    /// Both mutants at once; `None` if they are the same, or if one changes the precision, whose wide bounds hold much that has another cause.
    pub fn new(first: Mutant, second: Mutant) -> Option<Self> {
        let is_coarse = |mutant: &Mutant| mutant.nature() == Nature::Precision;
        let pair = [first, second];
        (first != second && !pair.iter().any(is_coarse)).then_some(Self(pair))
    }

    /// The pair called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        let (first, second) = name.split_once('+')?;
        Self::new(Mutant::from_name(first)?, Mutant::from_name(second)?)
    }

    /// Both mutants.
    pub const fn mutants(&self) -> &[Mutant; 2] {
        &self.0
    }

    /// Each mutant by itself.
    pub fn parts(self) -> [Combination; 2] {
        self.0.map(Combination::of)
    }

    /// The changes as a clause after "if".
    pub fn clause(self) -> String {
        let [first, second] = self.parts();
        format!("{}, and {}", first.clause(), second.clause())
    }
}

impl fmt::Display for MutantPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.0;
        write!(f, "{}+{}", first.name(), second.name())
    }
}
