use twinfer_case::{Case, Outcome, Variant};
use twinfer_onnx::Tensor;
use twinfer_store::RecordedObservation;

use crate::Error;

/// What a variant computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// The variant.
    pub variant: Variant,
    /// The outputs of each run, in the graph's order.
    pub runs: Vec<Vec<Tensor>>,
}

impl Outputs {
    /// What the variant did, if it executed every run.
    pub(crate) fn of(answer: RecordedObservation) -> Result<Self, Error> {
        let RecordedObservation { variant, observation, .. } = answer;
        let reason = match observation.outcome {
            Outcome::Ok if !observation.runs.is_empty() => {
                let runs = observation.runs.into_iter().map(|run| run.outputs).collect();
                return Ok(Self { variant, runs });
            }
            Outcome::Ok => format!("it does not execute on this machine, only {}", observation.stage),
            Outcome::Rejected(error) | Outcome::Failed(error) => error.to_string(),
            Outcome::Crashed(status) => format!("its worker ended in {}: {status}", observation.stage),
            Outcome::TimedOut => format!("no answer in time in {}", observation.stage),
        };
        Err(Error::NoOutputs { variant, reason })
    }
}

/// What golden computes: the outputs of each run, in the graph's order, each element rounded once from the
/// exact result.
///
/// An error if golden cannot compute a run, or the specification does not say what its outputs are.
pub fn expected(case: &Case) -> Result<Vec<Vec<Tensor>>, Error> {
    Ok(twinfer_targets::expected(case)?)
}
