use std::fmt;

use serde::{Deserialize, Serialize};
use twinfer_onnx::{DataType, Tensor};

use crate::{Algorithms, Arithmetic, BackendError, OutputFilling, backend_error::shortened};

/// What one variant did with one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The deepest stage that the variant entered.
    pub stage: Stage,
    /// How the stage ended.
    pub outcome: Outcome,
    /// The shapes that the backend inferred for the graph outputs before running, with −1 for an extent it does not know
    /// yet; `None` if it reports none.
    pub inferred_shapes: Option<Vec<Vec<i64>>>,
    /// The outputs of each run that completed.
    pub runs: Vec<RunOutput>,
    /// The precision of each layer; `None` if the backend reports none.
    pub precision: Option<ChosenPrecision>,
    /// The algorithms of this engine, if they are fewer than the backend [may use](Arithmetic::algorithms); `None` if nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithms: Option<Algorithms>,
    /// Log lines of severity warning and above, in order.
    pub log: Vec<LogLine>,
    /// Wall time of each stage.
    pub timings: Vec<Timing>,
    /// Changed guard bytes behind blocks of memory; always empty unless the variant's memory is poisoned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_bounds: Vec<OutOfBoundsWrite>,
    /// What the buffers of the outputs held before each run; `None` if they were not filled.
    #[serde(default = "first_filling", skip_serializing_if = "is_first_filling")]
    pub output_filling: Option<OutputFilling>,
}

#[expect(clippy::unnecessary_wraps, reason = "the field has this type")]
const fn first_filling() -> Option<OutputFilling> {
    Some(OutputFilling::FIRST)
}

#[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_first_filling(filling: &Option<OutputFilling>) -> bool {
    *filling == first_filling()
}

impl Observation {
    /// An observation of which only the end is known.
    pub const fn new(stage: Stage, outcome: Outcome) -> Self {
        Self {
            stage,
            outcome,
            inferred_shapes: None,
            runs: Vec::new(),
            precision: None,
            algorithms: None,
            log: Vec::new(),
            timings: Vec::new(),
            out_of_bounds: Vec::new(),
            output_filling: first_filling(),
        }
    }

    /// The arithmetic of this engine, of a backend with that of `backend`.
    pub fn arithmetic(&self, backend: Arithmetic) -> Arithmetic {
        self.algorithms.map_or(backend, |engine| backend.with(engine.min(backend.algorithms)))
    }

    /// All tensors: run by run, the outputs, then the intermediates.
    pub fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.runs.iter().flat_map(|run| {
            run.outputs.iter().chain(run.intermediates.iter().map(|intermediate| &intermediate.tensor))
        })
    }
}

/// A stage of a backend's work, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Starting the worker process and its libraries.
    Start,
    /// Reading the model's bytes.
    Load,
    /// Understanding the graph: parsing, validating, inferring shapes.
    Parse,
    /// Making the graph executable.
    Build,
    /// Running the graph.
    Execute,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 5] = [Self::Start, Self::Load, Self::Parse, Self::Build, Self::Execute];

    /// The stage's name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Load => "load",
            Self::Parse => "parse",
            Self::Build => "build",
            Self::Execute => "execute",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a backend's work on a case ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The backend went as far as it can on this machine without an error, to [`Observation::stage`].
    Ok,
    /// The backend refused the model or the inputs.
    Rejected(BackendError),
    /// The backend reported an internal error.
    Failed(BackendError),
    /// The worker process died of a signal or exited by itself.
    Crashed(String),
    /// The stage's deadline passed.
    TimedOut,
}

impl Outcome {
    /// The backend refused, with this error.
    pub fn rejected(error: impl Into<BackendError>) -> Self {
        Self::Rejected(error.into())
    }

    /// The backend failed, with this error.
    pub fn failed(error: impl Into<BackendError>) -> Self {
        Self::Failed(error.into())
    }

    /// The same outcome with a message of at most `bytes` bytes, for a record that many are kept of.
    #[must_use]
    pub fn shortened(&self, bytes: usize) -> Self {
        match self {
            Self::Ok => Self::Ok,
            Self::Rejected(error) => Self::Rejected(error.shortened(bytes)),
            Self::Failed(error) => Self::Failed(error.shortened(bytes)),
            Self::Crashed(status) => Self::Crashed(shortened(status, bytes)),
            Self::TimedOut => Self::TimedOut,
        }
    }

    /// The error that the backend reported; `None` if it reported none.
    pub const fn error(&self) -> Option<&BackendError> {
        match self {
            Self::Rejected(error) | Self::Failed(error) => Some(error),
            Self::Ok | Self::Crashed(_) | Self::TimedOut => None,
        }
    }
}

/// The outputs of one run, in the graph's order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOutput {
    /// One tensor per graph output.
    pub outputs: Vec<Tensor>,
    /// The requested values inside the graph that the backend can return.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intermediates: Vec<NamedTensor>,
}

impl RunOutput {
    /// The outputs of a run that returned the values called `intermediates` behind the graph's own outputs.
    pub fn named(mut outputs: Vec<Tensor>, intermediates: &[String]) -> Self {
        let named = outputs.split_off(outputs.len().saturating_sub(intermediates.len()));
        let named = intermediates.iter().zip(named);
        Self {
            outputs,
            intermediates: named.map(|(name, tensor)| NamedTensor { name: name.clone(), tensor }).collect(),
        }
    }
}

/// A tensor with its name in the graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedTensor {
    /// The value's name in the graph.
    pub name: String,
    /// The value's elements.
    pub tensor: Tensor,
}

/// The precision a backend chose, layer by layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenPrecision {
    /// How the precision is known.
    #[serde(default)]
    pub source: PrecisionSource,
    /// The layers, in the backend's execution order.
    pub layers: Vec<LayerInfo>,
}

/// How the precision that a backend chose is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrecisionSource {
    /// TensorRT's engine inspector.
    EngineInspector,
    /// The builder's log of the engine, on a machine without a GPU to inspect it.
    BuildLog,
    /// The graph that ONNX Runtime optimized.
    OptimizedGraph,
    /// Where each node was placed, as ONNX Runtime logs it or a compiled module shows it.
    NodePlacement,
    /// The backend does not state it.
    #[default]
    Unstated,
}

/// One layer of a built engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerInfo {
    /// The backend's name for the layer.
    pub name: String,
    /// The backend's word for what the layer computes.
    pub operator: String,
    /// The element types of the layer's inputs.
    pub inputs: Vec<DataType>,
    /// The element types of the layer's outputs.
    pub outputs: Vec<DataType>,
    /// The element type of the layer's weights; `None` if it has none or the backend reports none.
    pub weights: Option<DataType>,
    /// The kernel that the layer runs; `None` if the backend reports none.
    pub tactic: Option<String>,
    /// Where the layer runs, as the backend names it; `None` if it runs where the variant asks.
    pub placement: Option<String>,
    /// The names of the ONNX nodes that the layer covers.
    pub nodes: Vec<String>,
}

/// A line that a backend logged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// The line's severity.
    pub severity: Severity,
    /// The stage during which the line was logged.
    pub stage: Stage,
    /// The line's text.
    pub text: String,
}

/// The severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Something the user may want to change.
    Warning,
    /// An operation failed.
    Error,
    /// The library is in an unknown state.
    Fatal,
}

/// The wall time of one stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The stage.
    pub stage: Stage,
    /// Wall time in microseconds.
    pub micros: u64,
}

impl Timing {
    /// The sum of all timings in microseconds.
    pub fn total(timings: &[Self]) -> u64 {
        timings.iter().fold(0, |total, timing| total.saturating_add(timing.micros))
    }
}

/// A changed guard byte: something wrote behind the end of a block of memory.
///
/// Guard bytes stand behind the blocks of variants with [`MemoryMode::Poison`](crate::MemoryMode::Poison).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutOfBoundsWrite {
    /// The stage in which the change was found.
    pub stage: Stage,
    /// Where the block lies.
    pub memory: MemoryKind,
    /// The size of the block in bytes, as it was requested.
    pub bytes: u64,
    /// The offset of the first changed byte from the start of the block, in bytes; at least [`bytes`](Self::bytes).
    pub offset: u64,
}

/// Where a block of memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryKind {
    /// On the device.
    Device,
    /// On the host, pinned, where the device can reach it.
    Host,
}

impl fmt::Display for OutOfBoundsWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory, bytes, offset, .. } = self;
        write!(
            f,
            "behind a block of {bytes} bytes of {memory} memory, the byte at offset {offset} was written"
        )
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device",
            Self::Host => "pinned host",
        })
    }
}
