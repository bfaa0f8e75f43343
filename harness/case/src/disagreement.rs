use serde::{Deserialize, Serialize};

use crate::Variant;

/// How the outputs of two variants differ on a model for which golden gives none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disagreement {
    /// The other variant.
    pub with: Variant,
    /// The outputs that differ in any run, in order.
    pub outputs: Vec<OutputDifference>,
}

/// How an output differs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputDifference {
    /// The position of the output.
    pub output: usize,
    /// The largest difference between two elements in any run; `None` if shapes or element types differ, or a difference is not finite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
}
