//! Families of cases: valid by construction, or invalid by exactly one named rule.
//!
//! A [`Space`] describes what a family is made of and how often, in one place. [`Space::cases`] makes a proptest
//! strategy of it, to compose and restrict; [`Family::stream`] gives the campaign's cases, each a function of the
//! family, the seed and the index alone.

mod choices;
mod coverage;
mod draft;
mod exact;
mod family;
mod invalid;
mod layer;
mod menu;
mod parameters;
mod plan;
mod space;
mod strategy;

pub use choices::Choices;
pub use coverage::{Coverage, CoverageReport, MissingPair, PairCount, ValueCount};
pub use family::{CaseStream, Family, UnknownFamily};
pub use invalid::InvalidSpace;
pub use menu::{Menu, NothingLeft};
pub use space::{
    Bias, CaseSpace, Dynamic, Grouping, Neighbour, Operator, OutputPadding, Padding, Runs, Source, Space,
    Values,
};
pub use strategy::{CaseTree, Cases};
