use nvinfer::Error;

/// Why there is no plan.
#[derive(Debug)]
pub enum PlanError {
    /// The inputs of the runs do not fit the network's.
    Inputs(String),
    /// The library refused.
    Library(Error),
}

impl From<Error> for PlanError {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}
