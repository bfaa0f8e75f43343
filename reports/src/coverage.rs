//! Which values of attributes the cases of a run had.

/// How often each value of each attribute occurred. A generator of cases knows the attributes; a report shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeCoverage {
    /// The cases that were looked at, which may be fewer than ran.
    pub cases: u64,
    /// The operators that have attributes, of all these cases.
    pub operators: u64,
    /// The attributes, in order.
    pub attributes: Vec<CoveredAttribute>,
    /// The pairs of values of two attributes that occurred together.
    pub pairs: u64,
    /// The pairs that can occur together.
    pub possible_pairs: u64,
}

/// An attribute of which every operator has one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoveredAttribute {
    /// What it is called.
    pub name: String,
    /// Its values, in order.
    pub values: Vec<CoveredValue>,
}

/// A value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoveredValue {
    /// What it is called.
    pub name: String,
    /// The operators that have it.
    pub operators: u64,
    /// How many of these are in cases where some backend diverges.
    pub differing: u64,
}
