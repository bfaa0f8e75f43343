//! The header forms of types that hold tensors: the same with each tensor's elements moved to the payload.

use std::io::BufRead;

use serde::{Deserialize, Serialize};
use twinfer_case::{
    CaseHash, ChosenPrecision, LogLine, NamedTensor, Observation, Outcome, Request, RunOutput, Stage, Timing,
};
use twinfer_onnx::{DataType, InvalidTensor, Tensor};

use crate::{MessageError, frame::Payload};

/// A tensor whose elements are the next part of the payload.
#[derive(Serialize, Deserialize)]
pub struct TensorHeader {
    dtype: DataType,
    shape: Vec<usize>,
}

/// An intermediate tensor with its value's name.
#[derive(Serialize, Deserialize)]
pub struct NamedTensorHeader {
    name: String,
    #[serde(flatten)]
    tensor: TensorHeader,
}

/// `ToWorker::Case` without tensors; the payload is the model, then the inputs of each run.
#[derive(Serialize, Deserialize)]
pub struct CaseHeader {
    pub hash: CaseHash,
    pub variants: Vec<usize>,
    pub request: Request,
    #[serde(default)]
    pub intermediates: Vec<String>,
    #[serde(default = "last_stage", skip_serializing_if = "is_last_stage")]
    pub until: Stage,
    pub runs: Vec<Vec<TensorHeader>>,
}

const fn last_stage() -> Stage {
    Stage::Execute
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_last_stage(stage: &Stage) -> bool {
    *stage == last_stage()
}

/// `FromWorker::Answer` without tensors; the payload is, run by run, the outputs, then the intermediates.
#[derive(Serialize, Deserialize)]
pub struct AnswerHeader {
    pub hash: CaseHash,
    pub variant: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
    pub observation: ObservationHeader,
}

#[derive(Serialize, Deserialize)]
pub struct ObservationHeader {
    stage: Stage,
    outcome: Outcome,
    #[serde(default)]
    inferred_shapes: Option<Vec<Vec<i64>>>,
    #[serde(default)]
    runs: Vec<RunHeader>,
    #[serde(default)]
    precision: Option<ChosenPrecision>,
    #[serde(default)]
    log: Vec<LogLine>,
    #[serde(default)]
    timings: Vec<Timing>,
}

#[derive(Serialize, Deserialize)]
struct RunHeader {
    outputs: Vec<TensorHeader>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    intermediates: Vec<NamedTensorHeader>,
}

impl TensorHeader {
    pub fn of(tensor: &Tensor) -> Self {
        Self { dtype: tensor.dtype(), shape: tensor.shape.clone() }
    }

    pub fn with(self, parts: &mut Parts<'_, impl BufRead>) -> Result<Tensor, MessageError> {
        Ok(parts.take(|bytes| Tensor::from_le_bytes(self.dtype, self.shape, bytes))??)
    }
}

impl From<InvalidTensor> for MessageError {
    fn from(error: InvalidTensor) -> Self {
        Self::Tensor(error)
    }
}

impl ObservationHeader {
    pub fn of(observation: &Observation) -> Self {
        Self {
            stage: observation.stage,
            outcome: observation.outcome.clone(),
            inferred_shapes: observation.inferred_shapes.clone(),
            runs: observation.runs.iter().map(RunHeader::of).collect(),
            precision: observation.precision.clone(),
            log: observation.log.clone(),
            timings: observation.timings.clone(),
        }
    }

    pub fn with(self, parts: &mut Parts<'_, impl BufRead>) -> Result<Observation, MessageError> {
        Ok(Observation {
            stage: self.stage,
            outcome: self.outcome,
            inferred_shapes: self.inferred_shapes,
            runs: self.runs.into_iter().map(|run| run.with(parts)).collect::<Result<_, _>>()?,
            precision: self.precision,
            log: self.log,
            timings: self.timings,
        })
    }
}

impl RunHeader {
    fn of(run: &RunOutput) -> Self {
        Self {
            outputs: run.outputs.iter().map(TensorHeader::of).collect(),
            intermediates: run
                .intermediates
                .iter()
                .map(|named| NamedTensorHeader {
                    name: named.name.clone(),
                    tensor: TensorHeader::of(&named.tensor),
                })
                .collect(),
        }
    }

    fn with(self, parts: &mut Parts<'_, impl BufRead>) -> Result<RunOutput, MessageError> {
        let outputs = self.outputs.into_iter().map(|tensor| tensor.with(parts)).collect::<Result<_, _>>()?;
        let intermediates = self
            .intermediates
            .into_iter()
            .map(|named| Ok(NamedTensor { name: named.name, tensor: named.tensor.with(parts)? }))
            .collect::<Result<_, MessageError>>()?;
        Ok(RunOutput { outputs, intermediates })
    }
}

/// The tensors of an observation in payload order.
pub fn tensors(observation: &Observation) -> impl Iterator<Item = &Tensor> {
    observation.runs.iter().flat_map(|run| {
        run.outputs.iter().chain(run.intermediates.iter().map(|intermediate| &intermediate.tensor))
    })
}

/// Payload parts that are read in order.
pub struct Parts<'a, R>(Payload<'a, R>);

impl<'a, R: BufRead> Parts<'a, R> {
    pub const fn new(payload: Payload<'a, R>) -> Self {
        Self(payload)
    }

    pub fn take<T>(&mut self, read: impl FnOnce(&[u8]) -> T) -> Result<T, MessageError> {
        self.0.take(read)?.ok_or(MessageError::MissingPart)
    }

    pub fn finish(self) -> Result<(), MessageError> {
        match self.0.left() {
            0 => Ok(()),
            spare => Err(MessageError::SpareParts(spare)),
        }
    }
}
