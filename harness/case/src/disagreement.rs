use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Variant;

/// How the outputs of two variants differ on a model for which golden gives none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disagreement {
    /// The other variant.
    pub with: Variant,
    /// The outputs that differ in any run, by their positions, each with the largest difference between two elements; without one if shapes or
    /// element types differ, or a difference is not finite.
    pub outputs: BTreeMap<usize, Option<f64>>,
}
