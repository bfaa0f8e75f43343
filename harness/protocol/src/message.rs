use std::{borrow::Cow, io::BufRead, iter};

use serde::{Deserialize, Serialize};
use twinfer_case::{
    CaseHash, Description, DeviceMemory, Fillable, Filling, Observation, Stage, Task, Variant,
};

use crate::{
    MessageError,
    frame::{FrameError, MAX_PAYLOAD, Part, read_frame, write_frame, write_header},
    stage,
    wire::{AnswerHeader, CaseHeader, ObservationHeader, Parts, TensorHeader},
};

/// A message from the supervisor.
#[derive(Debug)]
pub enum ToWorker {
    /// The first message: the supervisor's protocol version and the variants that this worker is to serve.
    Hello {
        /// The supervisor's [`PROTOCOL_VERSION`](crate::PROTOCOL_VERSION).
        protocol: u32,
        /// The variants; later messages refer to them by position.
        variants: Vec<Variant>,
    },
    /// A case for some of the variants; answered by one answer for each, in order.
    Case {
        /// The case to run.
        task: Task,
        /// Positions in the variants of [`ToWorker::Hello`].
        variants: Vec<usize>,
    },
}

/// A message from a worker.
#[derive(Debug)]
pub enum FromWorker {
    /// The answer to the handshake: every library is loaded.
    Hello {
        /// The worker's protocol version.
        protocol: u32,
        /// One description per variant of [`ToWorker::Hello`].
        backends: Vec<Description>,
        /// The memory of the device that the backends use; `None` if they use none.
        device_memory: Option<DeviceMemory>,
        /// The memory that the worker fills before each run as a case asks.
        fills: Vec<Fillable>,
    },
    /// A variant enters a stage of a case.
    Stage {
        /// The hash of the case.
        hash: CaseHash,
        /// The position of the variant.
        variant: usize,
        /// The stage.
        stage: Stage,
    },
    /// A variant is done with a case.
    Answer {
        /// The hash with which the case was sent.
        hash: CaseHash,
        /// The position of the variant.
        variant: usize,
        /// What the variant did.
        observation: Observation,
        /// Whether the worker cannot run further cases, because its backend lost state such as a CUDA context.
        last: bool,
    },
    /// The worker itself cannot continue, which is not a statement about a backend.
    Fault(Fault),
}

/// Why a worker cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What failed and what to do next.
    pub message: String,
    /// What has to be changed.
    #[serde(default)]
    pub cause: FaultCause,
}

/// What has to be changed if a worker cannot continue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultCause {
    /// The machine or the worker: a library is missing, a device is lost.
    #[default]
    Environment,
    /// The variant: its backend does not have the option, or does not take its value.
    Variant,
    /// Nothing but the time: the device serves no further process until another one ends.
    FullDevice,
}

impl Fault {
    /// A fault of the machine or of the worker.
    pub fn of_environment(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: FaultCause::Environment }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ToWorkerHeader<'a> {
    Hello { protocol: u32, variants: Cow<'a, [Variant]> },
    Case(CaseHeader<'a>),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FromWorkerHeader<'a> {
    Hello {
        protocol: u32,
        backends: Cow<'a, [Description]>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device_memory: Option<DeviceMemory>,
        #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
        fills: Cow<'a, [Fillable]>,
    },
    Stage {
        hash: CaseHash,
        variant: usize,
        stage: Stage,
    },
    Answer(AnswerHeader<'a>),
    Fault(Cow<'a, Fault>),
}

impl ToWorker {
    /// Appends the handshake to `stream`.
    pub fn write_hello(stream: &mut Vec<u8>, protocol: u32, variants: &[Variant]) -> Result<(), FrameError> {
        write_frame(stream, &ToWorkerHeader::Hello { protocol, variants: Cow::Borrowed(variants) }, &[])
    }

    /// Appends a case for the variants at `variants`.
    pub fn write_case(stream: &mut Vec<u8>, task: &Task, variants: &[usize]) -> Result<(), FrameError> {
        Self::write_filled_case(stream, task, task.filling, variants)
    }

    /// As [`write_case`](Self::write_case), with `filling` in place of that of the task.
    pub fn write_filled_case(
        stream: &mut Vec<u8>,
        task: &Task,
        filling: Filling,
        variants: &[usize],
    ) -> Result<(), FrameError> {
        let header = ToWorkerHeader::Case(CaseHeader {
            hash: task.hash,
            variants: Cow::Borrowed(variants),
            request: Cow::Borrowed(&task.request),
            intermediates: Cow::Borrowed(&task.intermediates),
            until: task.until,
            filling,
            runs: task.runs.iter().map(|run| run.iter().map(TensorHeader::of).collect()).collect(),
        });
        let tensors = task.runs.iter().flatten().map(Part::Tensor);
        let parts: Vec<_> = iter::once(Part::Bytes(&task.model)).chain(tensors).collect();
        write_frame(stream, &header, &parts)
    }
}

impl FromWorker {
    /// Appends the message to `stream`.
    pub fn write(&self, stream: &mut Vec<u8>) -> Result<(), FrameError> {
        match self {
            Self::Hello { protocol, backends, device_memory, fills } => {
                let (protocol, device_memory) = (*protocol, *device_memory);
                let (backends, fills) = (Cow::Borrowed(backends.as_slice()), Cow::Borrowed(fills.as_slice()));
                let hello = FromWorkerHeader::Hello { protocol, backends, device_memory, fills };
                write_frame(stream, &hello, &[])
            }
            Self::Stage { hash, variant, stage } => {
                write_header(stream, |stream| Ok(stage::write_header(stream, *hash, *variant, *stage)?))
            }
            Self::Answer { hash, variant, observation, last } => {
                let header = FromWorkerHeader::Answer(AnswerHeader {
                    hash: *hash,
                    variant: *variant,
                    last: *last,
                    observation: ObservationHeader::of(observation),
                });
                let parts: Vec<_> = observation.tensors().map(Part::Tensor).collect();
                write_frame(stream, &header, &parts)
            }
            Self::Fault(fault) => write_frame(stream, &FromWorkerHeader::Fault(Cow::Borrowed(fault)), &[]),
        }
    }
}

/// Reads the supervisor's next message; `None` if it closed the pipe.
pub fn read_to_worker(stream: &mut impl BufRead) -> Result<Option<ToWorker>, MessageError> {
    let Some(frame) = read_frame(stream, MAX_PAYLOAD, |_| None)? else { return Ok(None) };
    let mut parts = Parts::new(frame.payload);
    let message = match frame.header {
        ToWorkerHeader::Hello { protocol, variants } => {
            ToWorker::Hello { protocol, variants: variants.into_owned() }
        }
        ToWorkerHeader::Case(header) => {
            let model = parts.take(<[u8]>::to_vec)?;
            let runs = header
                .runs
                .into_iter()
                .map(|run| run.into_iter().map(|tensor| tensor.with(&mut parts)).collect())
                .collect::<Result<_, _>>()?;
            ToWorker::Case {
                task: Task {
                    hash: header.hash,
                    model,
                    request: header.request.into_owned(),
                    runs,
                    until: header.until,
                    intermediates: header.intermediates.into_owned(),
                    output_bytes: None,
                    filling: header.filling,
                },
                variants: header.variants.into_owned(),
            }
        }
    };
    parts.finish()?;
    Ok(Some(message))
}

/// Reads the worker's next message; `None` if it closed the pipe.
pub fn read_from_worker(stream: &mut impl BufRead) -> Result<Option<FromWorker>, MessageError> {
    read_limited_from_worker(stream, MAX_PAYLOAD)
}

/// Reads the worker's next message, whose tensors have at most `max_payload` bytes; `None` if it closed the pipe.
pub fn read_limited_from_worker(
    stream: &mut impl BufRead,
    max_payload: u64,
) -> Result<Option<FromWorker>, MessageError> {
    let Some(frame) = read_frame(stream, max_payload, stage_of)? else { return Ok(None) };
    let mut parts = Parts::new(frame.payload);
    let message = match frame.header {
        FromWorkerHeader::Hello { protocol, backends, device_memory, fills } => FromWorker::Hello {
            protocol,
            backends: backends.into_owned(),
            device_memory,
            fills: fills.into_owned(),
        },
        FromWorkerHeader::Stage { hash, variant, stage } => FromWorker::Stage { hash, variant, stage },
        FromWorkerHeader::Fault(fault) => FromWorker::Fault(fault.into_owned()),
        FromWorkerHeader::Answer(header) => FromWorker::Answer {
            hash: header.hash,
            variant: header.variant,
            last: header.last,
            observation: header.observation.with(&mut parts)?,
        },
    };
    parts.finish()?;
    Ok(Some(message))
}

/// The stage message of a header, if the header is byte by byte as this crate writes it.
fn stage_of(header: &[u8]) -> Option<FromWorkerHeader<'static>> {
    let (hash, variant, stage) = stage::read_header(header)?;
    Some(FromWorkerHeader::Stage { hash, variant, stage })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use twinfer_case::{
        Algorithms, ChosenPrecision, LayerInfo, LogLine, MemoryKind, NamedTensor, OutOfBoundsWrite, Outcome,
        OutputFilling, PrecisionSource, Request, RunOutput, Severity, Timing,
    };
    use twinfer_onnx::{DataType, Tensor, TensorData};

    use super::*;

    fn tensors() -> impl Strategy<Value = Tensor> {
        let floats = prop::collection::vec(any::<u32>(), 0..6).prop_map(|bits| Tensor {
            shape: vec![bits.len()],
            data: TensorData::Float(bits.into_iter().map(f32::from_bits).collect()),
        });
        let bytes = prop::collection::vec(any::<i8>(), 4)
            .prop_map(|bytes| Tensor { shape: vec![2, 2], data: TensorData::Int8(bytes) });
        prop_oneof![floats, bytes]
    }

    fn observation(outputs: Vec<Vec<Tensor>>, named: Option<&Tensor>) -> Observation {
        let run = |outputs| RunOutput {
            outputs,
            intermediates: named
                .into_iter()
                .map(|tensor| NamedTensor { name: "y0".to_owned(), tensor: tensor.clone() })
                .collect(),
        };
        Observation {
            stage: Stage::Execute,
            outcome: Outcome::rejected("code: text"),
            inferred_shapes: Some(vec![vec![1, -1]]),
            runs: outputs.into_iter().map(run).collect(),
            precision: Some(ChosenPrecision { source: PrecisionSource::BuildLog, layers: vec![layer()] }),
            algorithms: Some(Algorithms::Direct),
            log: vec![LogLine { severity: Severity::Error, stage: Stage::Build, text: "\"é\"".to_owned() }],
            timings: vec![Timing { stage: Stage::Parse, micros: u64::MAX }],
            out_of_bounds: vec![OutOfBoundsWrite {
                stage: Stage::Execute,
                memory: MemoryKind::Device,
                bytes: 400,
                offset: u64::MAX,
            }],
            output_filling: Some(OutputFilling::default()),
        }
    }

    fn layer() -> LayerInfo {
        LayerInfo {
            name: "node0".to_owned(),
            operator: "Conv".to_owned(),
            inputs: vec![DataType::Uint8],
            outputs: Vec::new(),
            weights: Some(DataType::Float16),
            tactic: None,
            placement: Some("CPU".to_owned()),
            nodes: vec!["node0".to_owned()],
        }
    }

    fn bits(tensor: &Tensor) -> (DataType, Vec<usize>, Vec<u8>) {
        (tensor.dtype(), tensor.shape.clone(), tensor.to_le_bytes())
    }

    proptest! {
        #[test]
        fn an_answer_arrives_bit_by_bit(
            outputs in prop::collection::vec(prop::collection::vec(tensors(), 0..3), 0..3),
            named in prop::option::of(tensors()),
            last in any::<bool>(),
        ) {
            let sent = observation(outputs, named.as_ref());
            let hash = Task::new(Vec::new(), request(), Vec::new()).hash;
            let mut bytes = Vec::new();
            let answer = FromWorker::Answer { hash, variant: 3, observation: sent.clone(), last };
            answer.write(&mut bytes).unwrap();
            let read = read_from_worker(&mut bytes.as_slice()).unwrap().unwrap();
            let FromWorker::Answer { hash: echoed, variant: 3, observation: read, last: told } = read else {
                panic!("{read:?}")
            };
            prop_assert_eq!(told, last);
            prop_assert_eq!(echoed, hash);
            prop_assert_eq!(tensors_of(&read), tensors_of(&sent));
            prop_assert_eq!(
                Observation { runs: Vec::new(), ..read },
                Observation { runs: Vec::new(), ..sent }
            );
        }

        #[test]
        fn a_case_arrives_bit_by_bit(
            model in prop::collection::vec(any::<u8>(), 0..40),
            runs in prop::collection::vec(prop::collection::vec(tensors(), 0..3), 0..3),
            until in prop::sample::select(vec![Stage::Parse, Stage::Build, Stage::Execute]),
        ) {
            let task = Task::new(model, request(), runs).until(until).observing(vec!["y0".to_owned()]);
            let mut bytes = Vec::new();
            ToWorker::write_case(&mut bytes, &task, &[0, 1]).unwrap();
            let read = read_to_worker(&mut bytes.as_slice()).unwrap().unwrap();
            let ToWorker::Case { task: read, variants } = read else { panic!("{read:?}") };
            prop_assert_eq!((variants, &read.intermediates), (vec![0, 1], &task.intermediates));
            prop_assert_eq!(read.until, until);
            // the hash covers the model, the request and every bit of every tensor
            prop_assert_eq!(Task::new(read.model, read.request, read.runs).hash, task.hash);
            prop_assert_eq!(read.hash, task.hash);
        }
    }

    /// A stage's message as JSON is written of it, without its length.
    fn json_of_stage(hash: CaseHash, variant: usize, stage: Stage) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &FromWorkerHeader::Stage { hash, variant, stage }, &[]).unwrap();
        bytes.split_off(4)
    }

    /// What a header says of a stage, read as JSON.
    fn stage_in_json(header: &[u8]) -> Option<(CaseHash, usize, Stage)> {
        let length = (header.len() as u32).to_le_bytes();
        let bytes = [&length, header].concat();
        let mut stream = bytes.as_slice();
        let frame = read_frame(&mut stream, MAX_PAYLOAD, |_| None).ok()??;
        let FromWorkerHeader::Stage { hash, variant, stage } = frame.header else { return None };
        Some((hash, variant, stage))
    }

    proptest! {
        #[test]
        fn a_stage_is_written_as_json_would_be_and_read_as_json_is(
            model in prop::collection::vec(any::<u8>(), 0..9),
            variant in 0_usize..12,
            stage in prop::sample::select(Stage::ALL.to_vec()),
            (place, byte) in (any::<prop::sample::Index>(), any::<u8>()),
        ) {
            let hash = Task::new(model, request(), Vec::new()).hash;
            let mut header = json_of_stage(hash, variant, stage);
            let mut written = Vec::new();
            stage::write_header(&mut written, hash, variant, stage).unwrap();
            prop_assert_eq!(written, header.as_slice());
            prop_assert_eq!(stage::read_header(&header), (variant < 10).then_some((hash, variant, stage)));
            prop_assert_eq!(stage_in_json(&header), Some((hash, variant, stage)));
            let place = place.index(header.len());
            for byte in [byte, b'0' + byte % 10, b'a' + byte % 26] {
                header[place] = byte;
                let read = stage::read_header(&header);
                prop_assert!(read.is_none() || read == stage_in_json(&header), "{}", String::from_utf8_lossy(&header));
            }
        }
    }

    #[test]
    fn a_stage_is_read_from_any_layout_of_its_json() {
        let header = r#"{"stage": {"stage": "build", "new": 1, "variant": 0, "hash": "HASH"}}"#;
        let read = answer(&header.replace("HASH", &"0a".repeat(32)), &[]);
        let Ok(Some(FromWorker::Stage { variant: 0, stage: Stage::Build, hash })) = read else {
            panic!("{read:?}")
        };
        assert_eq!(hash.to_string(), "0a".repeat(32));
    }

    fn request() -> Request {
        Request { precision: DataType::Float, tf32: false }
    }

    type Bits = (DataType, Vec<usize>, Vec<u8>);

    fn tensors_of(observation: &Observation) -> Vec<(Vec<Bits>, Vec<Bits>)> {
        let run = |run: &RunOutput| {
            let intermediates = run.intermediates.iter().map(|named| bits(&named.tensor)).collect();
            (run.outputs.iter().map(bits).collect(), intermediates)
        };
        observation.runs.iter().map(run).collect()
    }

    fn answer(header: &str, payload: &[&[u8]]) -> Result<Option<FromWorker>, MessageError> {
        let header: serde_json::Value = serde_json::from_str(header).unwrap();
        let mut bytes = Vec::new();
        let parts: Vec<_> = payload.iter().map(|part| Part::Bytes(part)).collect();
        write_frame(&mut bytes, &header, &parts).unwrap();
        read_from_worker(&mut bytes.as_slice())
    }

    #[test]
    fn a_payload_that_does_not_fit_its_header_is_refused() {
        let header = format!(
            r#"{{"answer":{{"hash":"{}","variant":0,"observation":{{"stage":"execute","outcome":"ok",
                "runs":[{{"outputs":[{{"dtype":"FLOAT","shape":[2]}}]}}]}}}}}}"#,
            "0".repeat(64)
        );
        assert!(answer(&header, &[&[0; 8]]).is_ok());
        assert!(matches!(answer(&header, &[]), Err(MessageError::MissingPart)));
        assert!(matches!(answer(&header, &[&[0; 8], &[]]), Err(MessageError::SpareParts(1))));
        assert!(matches!(answer(&header, &[&[0; 7]]), Err(MessageError::Tensor(_))));
        let huge = header.replace("[2]", "[18446744073709551615,18446744073709551615]");
        assert!(matches!(answer(&huge, &[&[0; 8]]), Err(MessageError::Tensor(_))));
    }

    #[test]
    fn payload_over_the_limit_is_refused_before_it_arrives() {
        let header = format!(
            r#"{{"message":{{"answer":{{"hash":"{}","variant":0,"observation":{{"stage":"execute","outcome":"ok"}}}}}},
                "payload":[9]}}"#,
            "0".repeat(64)
        );
        let bytes = [&(header.len() as u32).to_le_bytes(), header.as_bytes()].concat();
        let refused = read_limited_from_worker(&mut bytes.as_slice(), 8);
        assert!(matches!(refused, Err(MessageError::Frame(FrameError::PayloadTooLong(8)))), "{refused:?}");
        let incomplete = read_limited_from_worker(&mut bytes.as_slice(), 9);
        assert!(
            !matches!(incomplete, Err(MessageError::Frame(FrameError::PayloadTooLong(_)))),
            "{incomplete:?}"
        );
    }

    #[test]
    fn a_fault_without_a_cause_is_of_the_environment() {
        let told = |fault: &str| match answer(&format!(r#"{{"fault":{fault}}}"#), &[]) {
            Ok(Some(FromWorker::Fault(fault))) => fault,
            other => panic!("{other:?}"),
        };
        assert_eq!(told(r#"{"message":"no library"}"#), Fault::of_environment("no library"));
        assert_eq!(told(r#"{"message":"no option","cause":"variant"}"#).cause, FaultCause::Variant);
    }

    #[test]
    fn a_message_of_an_unknown_kind_is_refused() {
        let refused = answer(r#"{"song":{}}"#, &[]);
        assert!(matches!(refused, Err(MessageError::Frame(FrameError::Header(_)))), "{refused:?}");
    }
}
