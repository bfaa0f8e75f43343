//! The header forms of types that hold tensors, with each tensor's elements moved to the payload.

use std::{borrow::Cow, io::BufRead};

use serde::{Deserialize, Serialize};
use twinfer_case::{
    Algorithms, CaseHash, ChosenPrecision, Filling, LogLine, NamedTensor, Observation, OutOfBoundsWrite,
    Outcome, OutputFilling, Request, RunOutput, Stage, Timing,
};
use twinfer_onnx::{DataType, Tensor};

use crate::{MessageError, frame::Payload};

/// A tensor whose elements are the next part of the payload.
#[derive(Serialize, Deserialize)]
pub struct TensorHeader<'a> {
    dtype: DataType,
    shape: Cow<'a, [usize]>,
}

/// An intermediate tensor with its value's name.
#[derive(Serialize, Deserialize)]
pub struct NamedTensorHeader<'a> {
    name: Cow<'a, str>,
    #[serde(flatten)]
    tensor: TensorHeader<'a>,
}

/// `ToWorker::Case` without tensors; the payload is the model, then the inputs of each run.
#[derive(Serialize, Deserialize)]
pub struct CaseHeader<'a> {
    pub hash: CaseHash,
    pub variants: Cow<'a, [usize]>,
    pub request: Cow<'a, Request>,
    #[serde(default)]
    pub intermediates: Cow<'a, [String]>,
    #[serde(default = "last_stage", skip_serializing_if = "is_last_stage")]
    pub until: Stage,
    #[serde(rename = "fill", default, skip_serializing_if = "Filling::is_none")]
    pub filling: Filling,
    pub runs: Vec<Vec<TensorHeader<'a>>>,
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
pub struct AnswerHeader<'a> {
    pub hash: CaseHash,
    pub variant: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
    pub observation: ObservationHeader<'a>,
}

#[derive(Serialize, Deserialize)]
pub struct ObservationHeader<'a> {
    stage: Stage,
    outcome: Cow<'a, Outcome>,
    #[serde(default)]
    inferred_shapes: Cow<'a, Option<Vec<Vec<i64>>>>,
    #[serde(default)]
    runs: Vec<RunHeader<'a>>,
    #[serde(default)]
    precision: Cow<'a, Option<ChosenPrecision>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    algorithms: Option<Algorithms>,
    #[serde(default)]
    log: Cow<'a, [LogLine]>,
    #[serde(default)]
    timings: Cow<'a, [Timing]>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    out_of_bounds: Cow<'a, [OutOfBoundsWrite]>,
}

#[derive(Serialize, Deserialize)]
struct RunHeader<'a> {
    outputs: Vec<TensorHeader<'a>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    intermediates: Vec<NamedTensorHeader<'a>>,
}

impl<'a> TensorHeader<'a> {
    pub fn of(tensor: &'a Tensor) -> Self {
        Self { dtype: tensor.dtype(), shape: Cow::Borrowed(&tensor.shape) }
    }

    pub fn with(self, parts: &mut Parts<'_, impl BufRead>) -> Result<Tensor, MessageError> {
        Ok(parts.take(|bytes| Tensor::from_le_bytes(self.dtype, self.shape.into_owned(), bytes))??)
    }
}

impl<'a> ObservationHeader<'a> {
    pub fn of(observation: &'a Observation) -> Self {
        Self {
            stage: observation.stage,
            outcome: Cow::Borrowed(&observation.outcome),
            inferred_shapes: Cow::Borrowed(&observation.inferred_shapes),
            runs: observation.runs.iter().map(RunHeader::of).collect(),
            precision: Cow::Borrowed(&observation.precision),
            algorithms: observation.algorithms,
            log: Cow::Borrowed(&observation.log),
            timings: Cow::Borrowed(&observation.timings),
            out_of_bounds: Cow::Borrowed(&observation.out_of_bounds),
        }
    }

    pub fn with(self, parts: &mut Parts<'_, impl BufRead>) -> Result<Observation, MessageError> {
        Ok(Observation {
            stage: self.stage,
            outcome: self.outcome.into_owned(),
            inferred_shapes: self.inferred_shapes.into_owned(),
            runs: self.runs.into_iter().map(|run| run.with(parts)).collect::<Result<_, _>>()?,
            precision: self.precision.into_owned(),
            algorithms: self.algorithms,
            log: self.log.into_owned(),
            timings: self.timings.into_owned(),
            out_of_bounds: self.out_of_bounds.into_owned(),
            output_filling: Some(OutputFilling::default()),
        })
    }
}

impl<'a> RunHeader<'a> {
    fn of(run: &'a RunOutput) -> Self {
        Self {
            outputs: run.outputs.iter().map(TensorHeader::of).collect(),
            intermediates: run
                .intermediates
                .iter()
                .map(|named| NamedTensorHeader {
                    name: Cow::Borrowed(&named.name),
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
            .map(|named| Ok(NamedTensor { name: named.name.into_owned(), tensor: named.tensor.with(parts)? }))
            .collect::<Result<_, MessageError>>()?;
        Ok(RunOutput { outputs, intermediates })
    }
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
