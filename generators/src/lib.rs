//! Families of cases: valid by construction, or invalid by exactly one named rule.
//!
//! A [`Space`] lists the options of every decision in a family, with their weights. [`Space::cases`] turns it into a
//! proptest strategy, to compose and restrict. [`Family::stream`] generates the cases of a campaign; each case depends
//! only on the family, the seed and the index.
//!
//! ```
//! use proptest::prelude::*;
//! use twinfer_generators::{Grouping, InvalidSpace, Space};
//!
//! let mut depthwise = Space::convolutions();
//! depthwise.grouping = depthwise.grouping.keep(|grouping| *grouping == Grouping::Depthwise)?;
//! let cases = prop_oneof![depthwise.cases(), InvalidSpace::new().cases()];
//! proptest!(|(case in cases)| {
//!     prop_assert!(!case.graph.nodes.is_empty());
//! });
//! # Ok::<(), twinfer_generators::NothingLeft>(())
//! ```

mod arrangement;
mod arranger;
mod attributes;
mod axis;
mod caps;
mod case_space;
mod channels;
mod choices;
mod convolution;
mod coverage;
mod draft;
mod exact;
mod family;
mod forms;
mod invalid;
mod layer;
mod menu;
mod normalization;
mod padding;
mod parameters;
mod part;
mod plan;
mod pool;
mod power;
mod quantization;
mod quantizer;
mod quantizers;
mod rewrite;
mod setting;
mod space;
mod spaces;
mod special;
mod strategy;
mod tensors;
mod weights;
mod written;

/// The name of the batch where it is known only at run time.
const BATCH: &str = "N";

pub use arrangement::{Arrangement, Branches};
pub use case_space::CaseSpace;
pub use choices::Choices;
pub use coverage::{Coverage, CoverageReport, FactCount, Feature, MissingPair, PairCount, ValueCount};
pub use family::{CaseStream, Family, UnknownFamily};
pub use invalid::InvalidSpace;
pub use menu::{Menu, NothingLeft};
pub use quantization::{Dialect, Quantization};
pub use quantizer::{AxisForm, Quantizer, Scaling, ZeroPoint};
pub use rewrite::Rewrite;
pub use space::{
    Bias, Dynamic, Grouping, Neighbor, Operator, OutputPadding, Padding, PoolForm, Pooling, Runs, Size,
    Source, Space, Values,
};
pub use strategy::{CaseTree, Cases};
pub use twinfer_case::Distribution;
