//! *Edits*: mutants that are composed from what an operator computes, instead of listed.

mod attribute;
mod calculation;
mod change;
mod lane;
mod layout;
mod numbers;
mod operand;
mod operator;
mod pair;
mod region;
mod reindexing;
mod space;
mod term;

use std::fmt;

pub(crate) use self::attribute::AttributeEdit;
pub(crate) use self::change::Change;
pub(crate) use self::numbers::NumberEdit;
pub use self::operator::Operator;
pub(crate) use self::operator::groups;
pub use self::pair::EditPair;
pub(crate) use self::region::Region;

/// A mutant of one operator: one thing that the operator computes is changed, perhaps only in a part of its output.
///
/// `Display` gives its name, in kebab-case.
///
/// ```
/// use twinfer_golden::{Edit, Operator};
///
/// let edit = Edit::from_name("conv-bias-channel-next").expect("it is one of the space");
/// assert!(edit.clause().starts_with("Conv reads the bias of the next channel"));
/// assert!(Edit::of(Operator::Conv).contains(&edit));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edit {
    operator: Operator,
    change: Change,
    region: Option<Region>,
}

impl Edit {
    /// The edit called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        let belongs = |operator: &&Operator| name.starts_with(&format!("{}-", operator.slug()));
        let operators = Operator::ALL.iter().filter(belongs);
        operators.flat_map(|operator| Self::of(*operator)).find(|edit| edit.to_string() == name)
    }

    /// Every edit of an operator, those that change all of its output first.
    pub fn of(operator: Operator) -> Vec<Self> {
        let changes = space::changes(operator).into_iter();
        changes.map(|(change, region)| Self { operator, change, region }).collect()
    }

    /// The operator that computes something else.
    pub const fn operator(self) -> Operator {
        self.operator
    }

    /// Whether it changes only a part of the output.
    pub const fn is_restricted(self) -> bool {
        self.region.is_some()
    }

    /// The change as a clause after "if", such as "the bias of Conv is negated".
    pub fn clause(self) -> String {
        let change = self.change.clause(self.operator);
        match self.region {
            Some(region) => format!("{change}, but only {}", region.clause()),
            None => change,
        }
    }

    pub(crate) const fn change(self) -> Change {
        self.change
    }

    pub(crate) const fn region(self) -> Option<Region> {
        self.region
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.operator.slug(), self.change.slug())?;
        self.region.map_or(Ok(()), |region| write!(f, "-{}", region.slug()))
    }
}
