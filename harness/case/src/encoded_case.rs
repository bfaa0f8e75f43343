use std::sync::Arc;

use twinfer_onnx::infer_shapes;

use crate::{Case, CaseSize, OversizedRecipe, Task};

/// A case whose tensors are too large to be generated.
#[derive(Debug, thiserror::Error)]
#[error("case {index} of family {family}: {reason}")]
pub struct OversizedCase {
    /// Its place in the campaign; 0 if it is of none.
    pub index: u64,
    /// Its generator; `-` if it has none.
    pub family: String,
    /// Which of its tensors is too large.
    pub reason: OversizedRecipe,
}

/// A case with everything that is made of it once: its bytes and its tensors.
pub struct EncodedCase {
    /// The case.
    pub case: Case,
    /// What backends are given.
    pub task: Task,
    /// About what the task takes in the pipe to a worker; known here because counting goes through all of its tensors.
    pub bytes: usize,
}

impl EncodedCase {
    /// Encodes and materialises `case`.
    pub fn encode(case: Case) -> Result<Arc<Self>, OversizedCase> {
        match Task::of(&case) {
            Ok(task) => Ok(Arc::new(Self { bytes: bytes(&task), case, task })),
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

    /// How large the case is.
    pub fn size(&self) -> CaseSize {
        let graph = &self.case.graph;
        CaseSize {
            nodes: graph.nodes.len(),
            input_elements: self.task.runs.first().into_iter().flatten().map(twinfer_onnx::Tensor::len).sum(),
            initializer_elements: graph.initializers.iter().map(|initializer| initializer.tensor.len()).sum(),
            runs: self.case.runs.len(),
        }
    }

    /// Multiply-accumulates of the first run's convolutions; 0 where the shapes are not known.
    pub fn macs(&self) -> u64 {
        let graph = &self.case.graph;
        let inputs: Vec<_> =
            self.task.runs.first().into_iter().flatten().map(|tensor| tensor.shape.clone()).collect();
        let Ok(shapes) = infer_shapes(graph, &inputs) else { return 0 };
        graph.nodes.iter().filter_map(|node| macs_of(node, &shapes)).fold(0, u64::saturating_add)
    }
}

fn bytes(task: &Task) -> usize {
    let tensors: usize = task.runs.iter().flatten().map(|tensor| tensor.byte_len() + 96).sum();
    task.model.len() + tensors + 512
}

/// Each output of a Conv, or input of a ConvTranspose, meets the kernel of its group once.
fn macs_of(node: &twinfer_onnx::Node, shapes: &twinfer_onnx::Shapes) -> Option<u64> {
    use twinfer_onnx::Op;
    let elements = |name: &String| shapes.get(name).map(|value| value.shape.iter().product::<usize>() as u64);
    let weights = shapes.get(node.inputs.get(1)?)?;
    let per_position: usize = weights.shape.get(1..)?.iter().product();
    match &node.op {
        Op::Conv(_) => Some(elements(node.outputs.first()?)? * per_position as u64),
        Op::ConvTranspose(_) => Some(elements(node.inputs.first()?)? * per_position as u64),
        _ => None,
    }
}
