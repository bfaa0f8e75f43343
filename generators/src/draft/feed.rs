use twinfer_case::Regime;
use twinfer_onnx::DataType;

/// The data that is fed to a graph input.
pub struct Feed {
    pub dtype: DataType,
    pub shapes: Vec<Vec<usize>>,
    pub regime: Regime,
}
