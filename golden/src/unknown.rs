use twinfer_onnx::{DataType, RuleViolation};

/// Why golden has no reference for a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// The graph is not valid for these inputs.
    #[error("invalid graph: {0}")]
    Invalid(#[from] RuleViolation),
    /// An input has another element type than declared.
    #[error("input {name:?} is declared {declared} and fed {fed}")]
    Input {
        /// The graph input.
        name: String,
        /// The declared element type.
        declared: DataType,
        /// The element type of the tensor.
        fed: DataType,
    },
    /// Golden has no semantics for an operator.
    #[error("golden does not know the operator {0}")]
    Operator(&'static str),
    /// The graph is larger than the [`Limits`](crate::Limits) allow.
    #[error("{name:?} is too large for golden: {what}")]
    TooLarge {
        /// The name of the node or value that exceeds what remains of the [`Limits`](crate::Limits).
        name: String,
        /// The quantity that is too large, with its size.
        what: String,
    },
}
