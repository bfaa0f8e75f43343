use std::fmt;

use crate::{Combination, Edit, EditPair, MutantPair, Operator};

/// What may explain an output that golden does not: listed mutants, or edits.
///
/// `Display` gives its name, in kebab-case.
///
/// ```
/// use twinfer_golden::Hypothesis;
///
/// let listed = Hypothesis::from_name("bias-dropped").expect("it is a mutant");
/// let composed = Hypothesis::from_name("conv-bias-negated").expect("it is an edit");
/// assert!(matches!((listed, composed), (Hypothesis::Listed(_), Hypothesis::Composed(_))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hypothesis {
    /// One mutant, or several that are listed together.
    Listed(Combination),
    /// Two mutants that are not listed together.
    Both(MutantPair),
    /// A mutant that is composed.
    Composed(Edit),
    /// Two of them in one operator.
    Pair(EditPair),
}

impl Hypothesis {
    /// The hypothesis called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        let listed = Combination::from_name(name).map(Self::Listed);
        listed
            .or_else(|| MutantPair::from_name(name).map(Self::Both))
            .or_else(|| EditPair::from_name(name).map(Self::Pair))
            .or_else(|| Edit::from_name(name).map(Self::Composed))
    }

    /// The two mistakes that it is made of; `None` if it is one.
    pub fn parts(self) -> Option<[Self; 2]> {
        match self {
            Self::Listed(_) | Self::Composed(_) => None,
            Self::Both(pair) => Some(pair.parts().map(Self::Listed)),
            Self::Pair(pair) => Some(pair.edits().map(Self::Composed)),
        }
    }

    /// The change as a clause after "if".
    pub fn clause(self) -> String {
        match self {
            Self::Listed(combination) => combination.clause(),
            Self::Both(pair) => pair.clause(),
            Self::Composed(edit) => edit.clause(),
            Self::Pair(pair) => pair.clause(),
        }
    }

    /// The operator that it changes; `None` for listed mutants, which may change any.
    pub const fn operator(self) -> Option<Operator> {
        match self {
            Self::Listed(_) | Self::Both(_) => None,
            Self::Composed(edit) => Some(edit.operator()),
            Self::Pair(pair) => Some(pair.operator()),
        }
    }
}

impl fmt::Display for Hypothesis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed(combination) => f.write_str(combination.name),
            Self::Both(pair) => pair.fmt(f),
            Self::Composed(edit) => edit.fmt(f),
            Self::Pair(pair) => pair.fmt(f),
        }
    }
}
