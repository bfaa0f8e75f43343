use crate::DataType;

/// The element type and extents of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorType {
    /// The element type.
    pub dtype: DataType,
    /// Extents, outermost first.
    pub shape: Vec<usize>,
}
