use std::fmt;

use super::{Edit, Operator};

/// Two edits of one operator at once, neither of which is restricted to a part of the output.
///
/// `Display` gives its name, those of the edits with a plus sign between them.
///
/// ```
/// use twinfer_golden::{Edit, EditPair};
///
/// let edit = |name: &str| Edit::from_name(name).expect("it is one of the space");
/// let (bias, weight) = (edit("conv-bias-negated"), edit("conv-weight-input-channel-reversed"));
/// let pair = EditPair::new(bias, weight).expect("both are of Conv");
/// assert_eq!(pair.to_string(), "conv-bias-negated+conv-weight-input-channel-reversed");
/// assert_eq!(EditPair::from_name(&pair.to_string()), Some(pair));
/// assert_eq!(EditPair::new(bias, edit("relu-output-negated")), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EditPair {
    first: Edit,
    second: Edit,
}

impl EditPair {
    /// Both edits at once; `None` if they are the same, of two operators, or restricted.
    pub fn new(first: Edit, second: Edit) -> Option<Self> {
        let is_pair = first != second
            && first.operator() == second.operator()
            && !first.is_restricted()
            && !second.is_restricted();
        is_pair.then_some(Self { first, second })
    }

    /// The pair called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        let (first, second) = name.split_once('+')?;
        Self::new(Edit::from_name(first)?, Edit::from_name(second)?)
    }

    /// The operator that computes something else.
    pub const fn operator(self) -> Operator {
        self.first.operator()
    }

    /// Both edits.
    pub const fn edits(self) -> [Edit; 2] {
        [self.first, self.second]
    }

    /// The changes as a clause after "if".
    pub fn clause(self) -> String {
        format!("{}, and {}", self.first.clause(), self.second.clause())
    }
}

impl fmt::Display for EditPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.first, self.second)
    }
}
