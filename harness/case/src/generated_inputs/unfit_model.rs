use twinfer_onnx::{MAX_ELEMENTS, RuleViolation};

/// Why no inputs are generated for a model.
#[derive(Clone, Debug, thiserror::Error)]
pub enum UnfitModel {
    /// The graph accepts none of the shapes that were tried, but may accept others.
    #[error("no input shape fits the model: {violation}")]
    Extents {
        /// What it breaks with the largest extents.
        violation: RuleViolation,
        /// A symbolic dimension without a given extent.
        open: String,
    },
    /// The graph accepts no shapes.
    #[error("the model is invalid: {0}")]
    Invalid(RuleViolation),
    /// Its values are too large.
    #[error("the model is too large for twinfer, whose values have at most {MAX_ELEMENTS} elements: {0}")]
    TooLarge(RuleViolation),
    /// There are no shapes to try.
    #[error("the model has no input shapes")]
    NoShapes,
    /// An input has no shape.
    #[error("input {0:?} has no shape: declare one in the model")]
    UndeclaredShape(String),
    /// A symbolic dimension has two given extents.
    #[error("dimension {0:?} is set twice")]
    GivenTwice(String),
    /// An extent was given for a dimension that no input has.
    #[error("the model has no symbolic dimension {name:?}")]
    NoSuchDimension {
        /// The dimension.
        name: String,
        /// The symbolic dimensions of the inputs.
        known: Vec<String>,
    },
}
