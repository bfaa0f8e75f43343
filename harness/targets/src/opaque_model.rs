use twinfer_case::{Request, Run, Task, materialize};
use twinfer_checks::{OutputSource, Question, Refusals};
use twinfer_onnx::{Interface, MAX_OPSET, MIN_OPSET, PartialGraph};
use twinfer_segments::has_supported_part;

use crate::TargetError;

/// A model that golden does not support, with the inputs to run it on.
#[derive(Clone, Debug)]
pub struct OpaqueModel {
    /// The model's path as it was given, for reports.
    pub path: String,
    /// The model's ONNX bytes.
    pub model: Vec<u8>,
    /// The model's inputs, outputs and operators.
    pub interface: Interface,
    /// Why golden does not support the model.
    pub unknown: String,
    /// The precision that backends are asked for.
    pub request: Request,
    /// The inputs, one run for each case.
    pub cases: Vec<Run>,
    /// The seed of the inputs.
    pub seed: u64,
}

impl OpaqueModel {
    /// Whether golden supports a part of the model, which is judged segment by segment.
    pub fn has_supported_part(&self) -> bool {
        PartialGraph::decode(&self.model).is_ok_and(|graph| has_supported_part(&graph))
    }

    /// What the backends receive as the case at `index`.
    pub(crate) fn task(&self, index: usize) -> Result<Task, TargetError> {
        let runs = materialize(&self.cases[index..=index])
            .map_err(|oversized| TargetError::Inputs { index, reason: oversized })?;
        Ok(Task::new(self.model.clone(), self.request.clone(), runs))
    }

    /// What the variants are asked that run it; `sources` are [those of its outputs](Self::output_sources).
    pub(crate) fn question<'a>(&'a self, sources: &'a [OutputSource]) -> Question<'a> {
        Question { unknown: &self.unknown, sources, refusals: self.refusals() }
    }

    /// What a refusal means: nothing if backends need not know the operator set.
    fn refusals(&self) -> Refusals {
        match self.interface.dataflow.opset() {
            0 | MIN_OPSET..=MAX_OPSET => Refusals::Disagree,
            _ => Refusals::Open,
        }
    }

    /// The names of the model's outputs.
    pub(crate) fn output_names(&self) -> impl Iterator<Item = String> {
        self.interface.outputs.iter().map(|output| output.name.clone())
    }

    /// What each of the model's outputs comes from.
    pub(crate) fn output_sources(&self) -> Vec<OutputSource> {
        let outputs = self.interface.outputs.iter();
        outputs.map(|output| OutputSource::of(&self.interface.dataflow, &output.name)).collect()
    }
}
