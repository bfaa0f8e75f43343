use twinfer_onnx::Tensor;

use crate::{Case, CaseHash, OversizedRecipe, Request, Stage, materialize};

/// What a backend is given: a case with its model encoded and its tensors materialised.
#[derive(Clone, Debug)]
pub struct Task {
    /// Of the model, the request and the runs.
    pub hash: CaseHash,
    /// ONNX bytes.
    pub model: Vec<u8>,
    /// What is asked beyond the graph.
    pub request: Request,
    /// The inputs of each run, in order, each in the order of the graph's inputs.
    pub runs: Vec<Vec<Tensor>>,
    /// The last stage that is of interest; a backend may end its work there.
    pub until: Stage,
}

impl Task {
    /// Encodes the graph and materialises the tensors of `case`, once for all backends.
    pub fn of(case: &Case) -> Result<Self, OversizedRecipe> {
        let runs = materialize(&case.runs)?;
        Ok(Self::new(case.graph.encode(), case.request.clone(), runs))
    }

    /// A task for a model that is known as bytes only.
    pub fn new(model: Vec<u8>, request: Request, runs: Vec<Vec<Tensor>>) -> Self {
        let hash = CaseHash::over(&model, &request, &runs);
        Self { hash, model, request, runs, until: Stage::Execute }
    }

    /// The same, of which what comes after `stage` is of no interest.
    #[must_use]
    pub fn until(self, stage: Stage) -> Self {
        Self { until: stage, ..self }
    }
}

impl Case {
    /// The hash of what a backend is given; encodes and materialises the case.
    pub fn hash(&self) -> Result<CaseHash, OversizedRecipe> {
        Task::of(self).map(|task| task.hash)
    }
}
