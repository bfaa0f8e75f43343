use std::io::{Read, Write};

use serde::{Deserialize, Serialize};
use twinfer_case::{CaseHash, Description, Observation, Stage, Task, Variant};
use twinfer_onnx::{InvalidTensor, Tensor};

use crate::{
    frame::{FrameError, read_frame, write_frame},
    wire::{AnswerHeader, CaseHeader, ObservationHeader, Parts, TensorHeader, tensors},
};

/// What a supervisor says.
#[derive(Debug)]
pub enum ToWorker {
    /// The first message: the supervisor's protocol version and the variants that this worker is to serve.
    Hello {
        /// The supervisor's [`PROTOCOL_VERSION`](crate::PROTOCOL_VERSION).
        protocol: u32,
        /// Later messages name them by position.
        variants: Vec<Variant>,
    },
    /// A case for some of the variants; answered by one answer for each, in order.
    Case {
        /// What to run.
        task: Task,
        /// Positions in the handshake's variants.
        variants: Vec<usize>,
        /// Names of values to return besides the outputs, where the backend can.
        intermediates: Vec<String>,
    },
}

/// What a worker says.
#[derive(Debug)]
pub enum FromWorker {
    /// The answer to the handshake: every library is loaded.
    Hello {
        /// The worker's protocol version.
        protocol: u32,
        /// One entry a variant asked for.
        backends: Vec<Description>,
    },
    /// A variant enters a stage of a case.
    Stage {
        /// Which case.
        hash: CaseHash,
        /// Which variant.
        variant: usize,
        /// Which stage.
        stage: Stage,
    },
    /// A variant is done with a case.
    Answer {
        /// Which case: the hash it was sent with.
        hash: CaseHash,
        /// Which variant.
        variant: usize,
        /// What it did.
        observation: Observation,
    },
    /// The worker itself cannot go on: a library is missing, an option is unknown. Says nothing about a backend.
    Fault {
        /// What failed and what to do.
        message: String,
    },
}

/// A frame that is not a message of this protocol.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// No frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Fewer payload parts than the header describes tensors.
    #[error("the payload has fewer parts than the header describes")]
    MissingPart,
    /// More payload parts than the header describes.
    #[error("the payload has {0} parts that the header does not describe")]
    SpareParts(usize),
    /// A part that is not the tensor that the header describes.
    #[error("the payload does not fit the header: {0}")]
    Tensor(InvalidTensor),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ToWorkerHeader {
    Hello { protocol: u32, variants: Vec<Variant> },
    Case(CaseHeader),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FromWorkerHeader {
    Hello { protocol: u32, backends: Vec<Description> },
    Stage { hash: CaseHash, variant: usize, stage: Stage },
    Answer(AnswerHeader),
    Fault { message: String },
}

impl ToWorker {
    /// Writes the handshake.
    pub fn write_hello(
        stream: &mut impl Write,
        protocol: u32,
        variants: &[Variant],
    ) -> Result<(), FrameError> {
        write_frame(stream, &ToWorkerHeader::Hello { protocol, variants: variants.to_vec() }, &[])
    }

    /// Writes a case for the variants at `variants`.
    pub fn write_case(
        stream: &mut impl Write,
        task: &Task,
        variants: &[usize],
        intermediates: &[String],
    ) -> Result<(), FrameError> {
        let header = ToWorkerHeader::Case(CaseHeader {
            hash: task.hash,
            variants: variants.to_vec(),
            request: task.request.clone(),
            intermediates: intermediates.to_vec(),
            runs: task.runs.iter().map(|run| run.iter().map(TensorHeader::of).collect()).collect(),
        });
        let tensors: Vec<_> = task.runs.iter().flatten().map(Tensor::to_le_bytes).collect();
        let parts: Vec<&[u8]> =
            std::iter::once(task.model.as_slice()).chain(tensors.iter().map(Vec::as_slice)).collect();
        write_frame(stream, &header, &parts)
    }
}

impl FromWorker {
    /// Writes the message; the caller flushes.
    pub fn write(&self, stream: &mut impl Write) -> Result<(), FrameError> {
        match self {
            Self::Hello { protocol, backends } => write_frame(
                stream,
                &FromWorkerHeader::Hello { protocol: *protocol, backends: backends.clone() },
                &[],
            ),
            Self::Stage { hash, variant, stage } => write_frame(
                stream,
                &FromWorkerHeader::Stage { hash: *hash, variant: *variant, stage: *stage },
                &[],
            ),
            Self::Answer { hash, variant, observation } => {
                let header = FromWorkerHeader::Answer(AnswerHeader {
                    hash: *hash,
                    variant: *variant,
                    observation: ObservationHeader::of(observation),
                });
                let parts: Vec<_> = tensors(observation).map(Tensor::to_le_bytes).collect();
                write_frame(stream, &header, &parts.iter().map(Vec::as_slice).collect::<Vec<_>>())
            }
            Self::Fault { message } => {
                write_frame(stream, &FromWorkerHeader::Fault { message: message.clone() }, &[])
            }
        }
    }
}

/// Reads what a supervisor says next; `None` where it closed the pipe.
pub fn read_to_worker(stream: &mut impl Read) -> Result<Option<ToWorker>, MessageError> {
    let Some(frame) = read_frame(stream)? else { return Ok(None) };
    let mut parts = Parts::new(frame.payload);
    let message = match frame.header {
        ToWorkerHeader::Hello { protocol, variants } => ToWorker::Hello { protocol, variants },
        ToWorkerHeader::Case(header) => {
            let model = parts.take()?;
            let runs = header
                .runs
                .into_iter()
                .map(|run| run.into_iter().map(|tensor| tensor.with(&mut parts)).collect())
                .collect::<Result<_, _>>()?;
            ToWorker::Case {
                task: Task { hash: header.hash, model, request: header.request, runs },
                variants: header.variants,
                intermediates: header.intermediates,
            }
        }
    };
    parts.finish()?;
    Ok(Some(message))
}

/// Reads what a worker says next; `None` where it closed the pipe.
pub fn read_from_worker(stream: &mut impl Read) -> Result<Option<FromWorker>, MessageError> {
    let Some(frame) = read_frame(stream)? else { return Ok(None) };
    let mut parts = Parts::new(frame.payload);
    let message = match frame.header {
        FromWorkerHeader::Hello { protocol, backends } => FromWorker::Hello { protocol, backends },
        FromWorkerHeader::Stage { hash, variant, stage } => FromWorker::Stage { hash, variant, stage },
        FromWorkerHeader::Fault { message } => FromWorker::Fault { message },
        FromWorkerHeader::Answer(header) => FromWorker::Answer {
            hash: header.hash,
            variant: header.variant,
            observation: header.observation.with(&mut parts)?,
        },
    };
    parts.finish()?;
    Ok(Some(message))
}
