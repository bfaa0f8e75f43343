use std::fmt;

use serde::{Deserialize, Serialize};
use twinfer_onnx::{DataType, Tensor};

use crate::BackendError;

/// What one variant did with one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The deepest stage it entered.
    pub stage: Stage,
    /// How that ended.
    pub outcome: Outcome,
    /// The shapes the backend inferred for the graph outputs before running; −1 where it does not know yet.
    pub inferred_shapes: Option<Vec<Vec<i64>>>,
    /// The outputs of each run that completed.
    pub runs: Vec<RunOutput>,
    /// The precision each layer was given, where the backend tells.
    pub precision: Option<ChosenPrecision>,
    /// Log lines of severity warning and above, in order.
    pub log: Vec<LogLine>,
    /// Wall time of each stage.
    pub timings: Vec<Timing>,
}

impl Observation {
    /// One of which nothing is known but how it ended.
    pub const fn new(stage: Stage, outcome: Outcome) -> Self {
        Self {
            stage,
            outcome,
            inferred_shapes: None,
            runs: Vec::new(),
            precision: None,
            log: Vec::new(),
            timings: Vec::new(),
        }
    }

    /// Run by run, the outputs, then the intermediates.
    pub fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.runs.iter().flat_map(|run| {
            run.outputs.iter().chain(run.intermediates.iter().map(|intermediate| &intermediate.tensor))
        })
    }
}

/// Where in its work a backend is; in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Starting the worker process and its libraries.
    Start,
    /// Reading the model bytes.
    Load,
    /// Understanding the graph: parsing, validating, inferring shapes.
    Parse,
    /// Making something executable of it.
    Build,
    /// Running it.
    Execute,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [Self::Start, Self::Load, Self::Parse, Self::Build, Self::Execute];

    /// Its name, in JSON too.
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
    /// It went as far as it can on this machine without an error; `Observation::stage` says how far.
    Ok,
    /// The backend refused the model or the inputs and said so.
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
    /// One tensor a graph output.
    pub outputs: Vec<Tensor>,
    /// Values inside the graph that were asked for and that the backend can tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intermediates: Vec<NamedTensor>,
}

/// A tensor with the name of the value it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedTensor {
    /// The value's name in the graph.
    pub name: String,
    /// Its elements.
    pub tensor: Tensor,
}

/// The precision a backend chose, layer by layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenPrecision {
    /// Where this was learnt.
    #[serde(default)]
    pub source: PrecisionSource,
    /// In the backend's execution order.
    pub layers: Vec<LayerInfo>,
}

/// Where a backend's chosen precision was learnt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrecisionSource {
    /// TensorRT's engine inspector.
    EngineInspector,
    /// What a builder logged of the engine that it built, where no GPU is there to inspect it on.
    BuildLog,
    /// The graph as ONNX Runtime optimised it.
    OptimizedGraph,
    /// What ONNX Runtime logged of where it placed each node.
    NodePlacement,
    /// The backend did not say.
    #[default]
    Unstated,
}

/// One layer of a built engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerInfo {
    /// The backend's name for it.
    pub name: String,
    /// The backend's word for what it computes.
    pub operator: String,
    /// The types of its inputs.
    pub inputs: Vec<DataType>,
    /// The types of its outputs.
    pub outputs: Vec<DataType>,
    /// The type its weights are held in.
    pub weights: Option<DataType>,
    /// The kernel it runs.
    pub tactic: Option<String>,
    /// Where it runs, as the backend names it.
    pub placement: Option<String>,
    /// The names of the ONNX nodes it covers.
    pub nodes: Vec<String>,
}

/// One line a backend logged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// How bad.
    pub severity: Severity,
    /// During which stage.
    pub stage: Stage,
    /// The text.
    pub text: String,
}

/// How bad a log line says things are.
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
    /// Which stage.
    pub stage: Stage,
    /// In microseconds.
    pub micros: u64,
}

impl Timing {
    /// The microseconds of all of them together.
    pub fn total(timings: &[Self]) -> u64 {
        timings.iter().map(|timing| timing.micros).sum()
    }
}
