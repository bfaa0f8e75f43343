use std::fmt;

use serde::{Deserialize, Serialize};

/// An operator that runs in another precision than its graph or the variant asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fallback {
    /// The ONNX operator type.
    pub operator: String,
    /// Why the operator runs in another precision.
    pub reason: FallbackReason,
    /// What becomes of the graph's values.
    pub values: FallbackValues,
}

/// Why an operator runs in another precision than its graph or the variant asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FallbackReason {
    /// The number of channels per group is not a multiple that the backend's kernels accept.
    ChannelsPerGroup,
    /// The backend has no kernel for this operator in the quantized type.
    NoKernel,
    /// A `DequantizeLinear` in front of it was not fused into it and computes a float tensor.
    NotFused,
    /// The node was placed on another execution provider.
    Placement,
    /// It runs on floats of a type that the variant does not allow.
    NotAllowed,
    /// It runs on floats of another type than the variant requires.
    NotObeyed,
    /// The backend does not report a reason, and none of its rules gives one.
    Unknown,
}

impl FallbackReason {
    /// The reason as part of a sentence about the operator. Recordings hold it.
    pub const fn clause(self) -> &'static str {
        match self {
            Self::ChannelsPerGroup => "its channels per group are no multiples that the kernels take",
            Self::NoKernel => "there is no quantized kernel for it",
            Self::NotFused => "a DequantizeLinear in front of it runs by itself",
            Self::Placement => "it was placed on another provider",
            Self::NotAllowed => "the variant does not allow that type",
            Self::NotObeyed => "the variant requires another type",
            Self::Unknown => "the backend does not say why",
        }
    }
}

/// What a fallback does to the values of its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FallbackValues {
    /// The values are what golden allows: quantization is simulated.
    Kept,
    /// The values are wrong.
    Changed,
    /// The values are wrong for another reason, which hides what the fallback does.
    Obscured,
    /// The values were not compared: the backend stops before executing, or golden has no answer.
    NotCompared,
}

impl FallbackValues {
    /// What became of the values, as part of a sentence. Recordings hold it.
    pub const fn clause(self) -> &'static str {
        match self {
            Self::Kept => "the values are as golden allows",
            Self::Changed => "the values are wrong",
            Self::Obscured => "the values are wrong for another reason",
            Self::NotCompared => "values were not compared",
        }
    }
}

impl Fallback {
    /// Whether both fallbacks are the same bug. Values that were not compared, or that are wrong for another reason, count as
    /// not changed.
    pub fn is_like(&self, other: &Self) -> bool {
        let changes = |fallback: &Self| fallback.values == FallbackValues::Changed;
        self.operator == other.operator && self.reason == other.reason && changes(self) == changes(other)
    }
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.operator, self.reason, self.values)
    }
}

impl fmt::Display for FallbackReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ChannelsPerGroup => "channels-per-group",
            Self::NoKernel => "no-kernel",
            Self::NotFused => "not-fused",
            Self::Placement => "placement",
            Self::NotAllowed => "not-allowed",
            Self::NotObeyed => "not-obeyed",
            Self::Unknown => "unknown-reason",
        })
    }
}

impl fmt::Display for FallbackValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kept => "values-kept",
            Self::Changed => "values-changed",
            Self::Obscured => "values-obscured",
            Self::NotCompared => "values-not-compared",
        })
    }
}
