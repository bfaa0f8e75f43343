use twinfer_onnx::DataType;

use crate::parameters::Knowledge;

/// A computed value.
#[derive(Clone)]
pub struct Value {
    pub name: String,
    pub dtype: DataType,
    pub channels: usize,
    /// The spatial extents at each point.
    pub extents: Vec<Vec<usize>>,
    pub known: Knowledge,
    /// The scale of the integers that it is made of, if it is.
    pub scale: Option<f64>,
}
