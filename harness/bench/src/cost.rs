use serde::Serialize;

/// The cost of one step, in microseconds per case.
#[derive(Debug, Serialize)]
pub struct Cost {
    /// The name of the step.
    pub name: String,
    /// Processor time of the step, measured on its own; `None` if it was not measured.
    pub processor: Option<f64>,
    /// The first and third quartile, if `processor` is the median of many measurements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<[f64; 2]>,
    /// Wall time of a stage in the campaign; in the last row, of all processors together. `None` if not measured.
    pub campaign: Option<f64>,
}
