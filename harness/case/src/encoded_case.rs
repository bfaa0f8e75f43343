use std::sync::Arc;

use crate::{Case, CaseSize, OversizedRecipe, Task};

/// A case whose tensors are too large to be generated.
#[derive(Debug, thiserror::Error)]
#[error("case {index} of family {family}: {reason}")]
pub struct OversizedCase {
    /// The place of the case in the campaign; 0 outside a campaign.
    pub index: u64,
    /// The family that generated the case; `-` if it was not generated.
    pub family: String,
    /// The tensor that is too large.
    pub reason: OversizedRecipe,
}

/// A case, encoded once: its model as ONNX bytes, and its tensors as data.
pub struct EncodedCase {
    /// The case.
    pub case: Case,
    /// The model and the inputs, as backends receive them.
    pub task: Task,
    /// The approximate size of the task in the pipe to a worker, in bytes.
    pub bytes: usize,
    /// Multiply-accumulates of the first run's convolutions; 0 if the shapes are not known.
    pub macs: u64,
}

impl EncodedCase {
    /// Encodes the graph of `case` and materializes its tensors.
    pub fn encode(case: Case) -> Result<Arc<Self>, OversizedCase> {
        match Task::with_workload(&case) {
            Ok((task, workload)) => {
                Ok(Arc::new(Self { bytes: bytes(&task), macs: workload.macs, case, task }))
            }
            Err(reason) => {
                let provenance = case.provenance;
                Err(OversizedCase {
                    index: provenance.as_ref().map_or(0, |provenance| provenance.index),
                    family: provenance.map_or_else(|| "-".to_owned(), |provenance| provenance.family),
                    reason,
                })
            }
        }
    }

    /// The size of the case: nodes, elements and runs.
    pub fn size(&self) -> CaseSize {
        let graph = &self.case.graph;
        CaseSize {
            nodes: graph.nodes.len(),
            input_elements: self.task.runs.first().into_iter().flatten().map(twinfer_onnx::Tensor::len).sum(),
            initializer_elements: graph.initializers.iter().map(|initializer| initializer.tensor.len()).sum(),
            runs: self.case.runs.len(),
        }
    }
}

fn bytes(task: &Task) -> usize {
    let tensors: usize = task.runs.iter().flatten().map(|tensor| tensor.byte_len() + 96).sum();
    task.model.len() + tensors + 512
}
