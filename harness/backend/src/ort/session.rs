//! One session a model: graph optimizations, execution provider, and its runs.

use std::sync::Arc;

use ort::{
    environment::Environment,
    ep,
    logging::{LogLevel, LoggerFunction},
    session::{OutputSelector, RunOptions, Session, SessionInputValue, builder::SessionBuilder},
};
use twinfer_case::{
    Algorithms, BackendError, ChosenPrecision, LayerInfo, Outcome, OutputFilling, PrecisionSource, RunOutput,
    Severity, Task,
};
use twinfer_onnx::{DataType, Dim, Graph, MAX_OPSET, MIN_OPSET, Node, Op, Tensor, ValueInfo, with_outputs};

use super::{
    choices::Provider,
    loaded_plugin,
    optimized::{OptimizedModel, mentions_quantizers},
    placement::Placements,
    value,
};
use crate::{
    OpenError,
    options::Optimization,
    recorder::{Log, Recorder},
};

/// Makes sessions of one kind.
pub struct Sessions {
    environment: Environment,
    provider: Provider,
    level: Optimization,
    /// Where sessions write the optimized graph; `None` if they do not optimize it.
    optimized: Option<OptimizedModel>,
    log: Log,
}

/// A model that is ready to run.
pub struct Loaded {
    session: Session,
    /// The type and shape of every output; `None` unless the session knows all of them before it runs.
    known_outputs: Option<Vec<Vec<usize>>>,
    /// The values inside the graph that the session returns behind the graph's outputs.
    intermediates: Vec<String>,
    log: Log,
}

impl Sessions {
    pub fn new(environment: Environment, provider: Provider, level: Optimization, log: Log) -> Self {
        // what a plugin has compiled cannot be written
        let is_written = level != Optimization::Off && !matches!(provider, Provider::Plugin(_));
        let optimized = if is_written { OptimizedModel::create().ok() } else { None };
        Self { environment, provider, level, optimized, log }
    }

    pub const fn provider(&self) -> Provider {
        self.provider
    }

    pub const fn level(&self) -> Optimization {
        self.level
    }

    /// Registers the provider once, so that its absence is an error before the first case.
    pub fn probe(&self) -> Result<(), OpenError> {
        self.builder(false, &CpuNodes::Refused).map(|_| ()).map_err(|error| OpenError::Provider {
            provider: self.provider.name(),
            reason: error.to_string().trim_end().to_owned(),
        })
    }

    /// The newest operator set whose models sessions take, of those that twinfer knows.
    pub fn newest_opset(&self) -> i64 {
        let mark = self.log.mark();
        let is_taken = |opset: &i64| {
            let builder = self.builder(false, &CpuNodes::Recorded(Placements::default()));
            builder.and_then(|mut builder| builder.commit_from_memory(&identity(*opset))).is_ok()
        };
        let newest = (MIN_OPSET..=MAX_OPSET).rev().find(is_taken);
        self.log.rewind(mark);
        newest.unwrap_or(MAX_OPSET)
    }

    /// Makes a session of the task's model; the error is the outcome of the case.
    pub fn create(&self, task: &Task, recorder: &mut Recorder<'_>) -> Result<Loaded, Outcome> {
        let mark = self.log.mark();
        let mut nodes_on_cpu = CpuNodes::Refused;
        let mut session = self.commit(task, &nodes_on_cpu);
        if session.as_ref().is_err_and(is_fallback) {
            self.log.rewind(mark);
            nodes_on_cpu = CpuNodes::Recorded(Placements::default());
            session = self.commit(task, &nodes_on_cpu);
        }
        let session = session.map_err(|error| refusal(&error))?;
        let observation = recorder.observation();
        observation.precision = self.precision(task, &nodes_on_cpu);
        observation.algorithms = nodes_on_cpu.algorithms();
        observation.inferred_shapes = inferred_shapes(&session).map(|mut shapes| {
            shapes.truncate(shapes.len().saturating_sub(task.intermediates.len()));
            shapes
        });
        Ok(Loaded::new(session, task.intermediates.clone(), self.log.clone()))
    }

    fn commit(&self, task: &Task, nodes_on_cpu: &CpuNodes) -> ort::Result<Session> {
        let mut builder = self.builder(task.request.tf32, nodes_on_cpu)?;
        if let Some(path) = self.wanted(task).and_then(|model| model.path().ok()) {
            builder = builder.with_optimized_model_path(path)?;
        }
        if task.intermediates.is_empty() {
            return builder.commit_from_memory(&task.model);
        }
        builder.commit_from_memory(&with_outputs(&task.model, &task.intermediates))
    }

    /// Where the session of this task writes its model; `None` if the model has no quantizers, since its precision is then that
    /// of its values, and writing it costs time.
    fn wanted(&self, task: &Task) -> Option<&OptimizedModel> {
        self.optimized.as_ref().filter(|_| mentions_quantizers(&task.model))
    }

    /// The precision that the session chose.
    fn precision(&self, task: &Task, nodes_on_cpu: &CpuNodes) -> Option<ChosenPrecision> {
        let elsewhere = match nodes_on_cpu {
            CpuNodes::Refused => Vec::new(),
            CpuNodes::Recorded(placements) => placements.elsewhere(self.provider.name()),
        };
        if let Some(mut layers) = self.wanted(task).and_then(OptimizedModel::layers) {
            place(&mut layers, elsewhere);
            return Some(ChosenPrecision { source: PrecisionSource::OptimizedGraph, layers });
        }
        let source = PrecisionSource::NodePlacement;
        (!elsewhere.is_empty()).then_some(ChosenPrecision { source, layers: elsewhere })
    }

    fn builder(&self, tf32: bool, nodes_on_cpu: &CpuNodes) -> ort::Result<SessionBuilder> {
        let (log, level) = match nodes_on_cpu {
            CpuNodes::Refused => (logger(self.log.clone()), LogLevel::Warning),
            CpuNodes::Recorded(placements) => {
                (logger_with_placements(self.log.clone(), placements.clone()), LogLevel::Verbose)
            }
        };
        let builder = Session::builder(&self.environment)?
            .with_logger(log)?
            .with_log_level(level)?
            .with_optimization_level(self.level.into())?
            .with_intra_threads(1)?
            .with_inter_threads(1)?;
        let builder = match self.provider {
            Provider::Cpu => return Ok(builder),
            Provider::Cuda { device, search, .. } => {
                let cuda = ep::CUDA::default()
                    .with_device_id(device)
                    .with_conv_algorithm_search(search.into())
                    .with_tf32(tf32)
                    .build()
                    .error_on_failure();
                builder.with_execution_providers([cuda])?
            }
            Provider::Plugin(plugin) => loaded_plugin::append(builder, &self.environment, plugin)?,
        };
        match nodes_on_cpu {
            CpuNodes::Refused => Ok(builder.with_disable_cpu_fallback()?),
            CpuNodes::Recorded(_) => Ok(builder),
        }
    }
}

/// A model that every release with this operator set takes.
fn identity(opset: i64) -> Vec<u8> {
    let value = |name: &str| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(vec![Dim::Fixed(1)]),
    };
    let node = Node {
        name: "identity".to_owned(),
        op: Op::Identity,
        inputs: vec!["x".to_owned()],
        outputs: vec!["y".to_owned()],
    };
    Graph {
        opset,
        inputs: vec![value("x")],
        initializers: Vec::new(),
        nodes: vec![node],
        outputs: vec![value("y")],
    }
    .encode()
}

/// Whether nodes may be placed on the CPU in a session of another provider.
enum CpuNodes {
    Refused,
    /// They may, and are recorded here.
    Recorded(Placements),
}

impl CpuNodes {
    /// Direct convolutions if all were placed on the CPU, whose provider has no others; `None` if not all of them were.
    fn algorithms(&self) -> Option<Algorithms> {
        match self {
            Self::Recorded(placements) if placements.convolve_on(Provider::Cpu.name()) => {
                Some(Algorithms::DirectConvolutions)
            }
            Self::Recorded(_) | Self::Refused => None,
        }
    }
}

/// Whether ONNX Runtime refuses a graph because it would place nodes on the CPU, which is disabled.
fn is_fallback(error: &ort::Error) -> bool {
    error.message().contains("fallback to CPU EP has been explicitly disabled")
}

/// Adds the placement of each node to its layer, and the nodes that are not layers.
fn place(layers: &mut Vec<LayerInfo>, placed: Vec<LayerInfo>) {
    for node in placed {
        match layers.iter_mut().find(|layer| layer.name == node.name) {
            Some(layer) => layer.placement = node.placement,
            None => layers.push(node),
        }
    }
}

/// How an error while a session is made ends a case: a refusal, unless ONNX Runtime calls it its own fault.
fn refusal(error: &ort::Error) -> Outcome {
    use ort::ErrorCode::RuntimeException;
    let reported = reported(error);
    match error.code() {
        RuntimeException => Outcome::Failed(reported),
        _ => Outcome::Rejected(reported),
    }
}

/// How an error while running ends a case: a refusal only if the inputs are at fault.
fn failure(error: &ort::Error) -> Outcome {
    use ort::ErrorCode::{InvalidArgument, NotImplemented};
    let reported = reported(error);
    match error.code() {
        InvalidArgument | NotImplemented => Outcome::Rejected(reported),
        _ => Outcome::Failed(reported),
    }
}

fn reported(error: &ort::Error) -> BackendError {
    BackendError::with_code(format_args!("{:?}", error.code()), error.message())
}

fn inferred_shapes(session: &Session) -> Option<Vec<Vec<i64>>> {
    session.outputs().iter().map(|output| output.dtype().tensor_shape().map(|shape| shape.to_vec())).collect()
}

impl Loaded {
    fn new(session: Session, intermediates: Vec<String>, log: Log) -> Self {
        let known_outputs = inferred_shapes(&session).and_then(|shapes| {
            shapes
                .into_iter()
                .map(|shape| shape.into_iter().map(|extent| usize::try_from(extent).ok()).collect())
                .collect()
        });
        Self { session, known_outputs, intermediates, log }
    }

    /// Runs the session once, into buffers that hold `filling`; the error is the outcome of the case.
    pub fn run(&mut self, inputs: &[Tensor], filling: OutputFilling) -> Result<RunOutput, Outcome> {
        let values: Vec<_> =
            inputs.iter().map(value::input).collect::<Result<_, _>>().map_err(|error| failure(&error))?;
        let outputs = match self.filled_outputs(filling) {
            // a buffer of the inferred shape is refused if that shape is wrong: a run without buffers shows the actual shape
            Some(selector) => {
                let mark = self.log.mark();
                self.run_into(&values, selector).or_else(|_| {
                    self.log.rewind(mark);
                    self.run_freely(&values)
                })
            }
            None => self.run_freely(&values),
        };
        outputs.map(|outputs| RunOutput::named(outputs, &self.intermediates)).map_err(|error| failure(&error))
    }

    fn filled_outputs(&self, filling: OutputFilling) -> Option<OutputSelector> {
        let shapes = self.known_outputs.as_ref()?;
        let mut selector = OutputSelector::default();
        let is_input = |name: &str| self.session.inputs().iter().any(|input| input.name() == name);
        // for an output that is an input, ONNX Runtime gives back the input and leaves the buffer as it is
        let computed =
            self.session.outputs().iter().zip(shapes).filter(|(outlet, _)| !is_input(outlet.name()));
        for (outlet, shape) in computed {
            let buffer = value::output(outlet.dtype().tensor_type()?, shape.clone(), filling)?.ok()?;
            selector = selector.preallocate(outlet.name(), buffer);
        }
        Some(selector)
    }

    fn run_into(
        &mut self,
        inputs: &[SessionInputValue<'_>],
        selector: OutputSelector,
    ) -> ort::Result<Vec<Tensor>> {
        let options = RunOptions::new()?.with_outputs(selector);
        let outputs = self.session.run_with_options(inputs, &options)?;
        outputs.values().map(|output| value::tensor(&output)).collect()
    }

    fn run_freely(&mut self, inputs: &[SessionInputValue<'_>]) -> ort::Result<Vec<Tensor>> {
        let outputs = self.session.run(inputs)?;
        outputs.values().map(|output| value::tensor(&output)).collect()
    }
}

/// A callback that passes ONNX Runtime's log to `log`.
pub fn logger(log: Log) -> LoggerFunction {
    Arc::new(move |level, _category, _id, _location, message| keep(&log, level, message))
}

/// As [`logger`], and passes the lines about placements to `placements`.
fn logger_with_placements(log: Log, placements: Placements) -> LoggerFunction {
    Arc::new(move |level, _category, _id, _location, message| {
        placements.push(message);
        keep(&log, level, message);
    })
}

fn keep(log: &Log, level: LogLevel, message: &str) {
    let severity = match level {
        LogLevel::Verbose | LogLevel::Info => return,
        LogLevel::Warning => Severity::Warning,
        LogLevel::Error => Severity::Error,
        LogLevel::Fatal => Severity::Fatal,
    };
    // a consequence of asking for the optimized model, not of the case
    if !message.starts_with("Serializing optimized model") {
        log.push(severity, message);
    }
}
