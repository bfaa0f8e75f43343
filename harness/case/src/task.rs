use twinfer_onnx::Tensor;

use crate::{Case, CaseHash, Filling, OversizedRecipe, Request, Stage, materialize, workload::Workload};

/// What a backend is given: a case with its model encoded and its tensors materialized.
#[derive(Clone, Debug)]
pub struct Task {
    /// The hash of the model, the request and the runs.
    pub hash: CaseHash,
    /// The model in ONNX format.
    pub model: Vec<u8>,
    /// What the backend is asked for beyond the graph.
    pub request: Request,
    /// The inputs of each run, in order, each in the order of the graph's inputs.
    pub runs: Vec<Vec<Tensor>>,
    /// The last stage that the supervisor needs; a backend may stop after it.
    pub until: Stage,
    /// The names of values inside the graph that are wanted besides the outputs; a backend returns those that it can.
    pub intermediates: Vec<String>,
    /// Bytes of the outputs of all runs, by the shape rules of ONNX; `None` if these do not tell.
    pub output_bytes: Option<u64>,
    /// What the backend fills memory with before each run.
    pub filling: Filling,
}

impl Task {
    /// Encodes the graph and materializes the tensors of `case`, once for all backends.
    pub fn of(case: &Case) -> Result<Self, OversizedRecipe> {
        Self::with_workload(case).map(|(task, _)| task)
    }

    /// Like [`of`](Self::of), with how much the case gives a backend to do.
    pub(crate) fn with_workload(case: &Case) -> Result<(Self, Workload), OversizedRecipe> {
        let runs = materialize(&case.runs)?;
        let workload = Workload::of(&case.graph, &runs);
        let task = Self::new(case.graph.encode(), case.request.clone(), runs);
        Ok((Self { output_bytes: workload.output_bytes, ..task }, workload))
    }

    /// A task for a model in ONNX format.
    pub fn new(model: Vec<u8>, request: Request, runs: Vec<Vec<Tensor>>) -> Self {
        let hash = CaseHash::over(&model, &request, &runs);
        Self {
            hash,
            model,
            request,
            runs,
            until: Stage::Execute,
            intermediates: Vec::new(),
            output_bytes: None,
            filling: Filling::default(),
        }
    }

    /// This task with `stage` as the last stage that the supervisor needs.
    #[must_use]
    pub fn until(self, stage: Stage) -> Self {
        Self { until: stage, ..self }
    }

    /// This task with `intermediates` as the values inside the graph that are wanted besides the outputs. The hash stays: what the
    /// backend computes is the same.
    #[must_use]
    pub fn observing(self, intermediates: Vec<String>) -> Self {
        Self { intermediates, output_bytes: None, ..self }
    }
}

impl Case {
    /// The hash of what a backend is given. Encodes and materializes the case.
    pub fn hash(&self) -> Result<CaseHash, OversizedRecipe> {
        Task::of(self).map(|task| task.hash)
    }
}
