//! One session a model: graph optimisations, execution provider, and its runs.

use std::sync::Arc;

use ort::{
    environment::Environment,
    ep,
    logging::{LogLevel, LoggerFunction},
    session::{OutputSelector, RunOptions, Session, SessionInputValue, builder::SessionBuilder},
};
use twinfer_case::{ChosenPrecision, LayerInfo, Outcome, PrecisionSource, RunOutput, Severity, Task};
use twinfer_onnx::{Graph, Tensor};

use super::{
    choices::{Optimization, Provider},
    value,
};
use crate::{
    OpenError,
    recorder::{Log, Recorder},
};

/// Makes sessions of one kind.
pub struct Sessions {
    environment: Environment,
    provider: Provider,
    level: Optimization,
    log: Log,
}

/// A model that is ready to run.
pub struct Loaded {
    session: Session,
    /// The type and shape of every output, where the session knows all of them before it runs.
    known_outputs: Option<Vec<Vec<usize>>>,
    log: Log,
}

impl Sessions {
    pub fn new(environment: Environment, provider: Provider, level: Optimization, log: Log) -> Self {
        Self { environment, provider, level, log }
    }

    pub const fn provider(&self) -> Provider {
        self.provider
    }

    pub const fn level(&self) -> Optimization {
        self.level
    }

    /// Registers the provider once, so that a machine without it is told before the first case.
    pub fn probe(&self) -> Result<(), OpenError> {
        self.builder(false, Fallback::Refused).map(|_| ()).map_err(|error| OpenError::Provider {
            provider: self.provider.name(),
            reason: error.to_string(),
        })
    }

    /// Makes a session of the task's model; the outcome tells why there is none.
    pub fn create(&self, task: &Task, recorder: &mut Recorder<'_>) -> Result<Loaded, Outcome> {
        let mark = self.log.mark();
        let session = match self.commit(task, Fallback::Refused) {
            Err(error) if is_fallback(&error) => {
                self.log.rewind(mark);
                recorder.observation().precision = Some(placed_on_cpu(&task.model));
                self.commit(task, Fallback::Allowed)
            }
            result => result,
        };
        let session = session.map_err(|error| refusal(&error))?;
        recorder.observation().inferred_shapes = inferred_shapes(&session);
        Ok(Loaded::new(session, self.log.clone()))
    }

    fn commit(&self, task: &Task, fallback: Fallback) -> ort::Result<Session> {
        self.builder(task.request.tf32, fallback)?.commit_from_memory(&task.model)
    }

    fn builder(&self, tf32: bool, fallback: Fallback) -> ort::Result<SessionBuilder> {
        let builder = Session::builder(&self.environment)?
            .with_logger(logger(self.log.clone()))?
            .with_log_level(LogLevel::Warning)?
            .with_optimization_level(self.level.into())?
            .with_intra_threads(1)?
            .with_inter_threads(1)?;
        let Provider::Cuda { device, search } = self.provider else { return Ok(builder) };
        let cuda = ep::CUDA::default()
            .with_device_id(device)
            .with_conv_algorithm_search(search.into())
            .with_tf32(tf32)
            .build()
            .error_on_failure();
        let builder = builder.with_execution_providers([cuda])?;
        match fallback {
            Fallback::Refused => Ok(builder.with_disable_cpu_fallback()?),
            Fallback::Allowed => Ok(builder),
        }
    }
}

/// Whether nodes may be placed on the CPU in a session of another provider.
#[derive(Clone, Copy)]
enum Fallback {
    Refused,
    Allowed,
}

/// ONNX Runtime's answer to a graph of which it would place nodes on the CPU where that is disabled.
fn is_fallback(error: &ort::Error) -> bool {
    error.message().contains("fallback to CPU EP has been explicitly disabled")
}

fn placed_on_cpu(model: &[u8]) -> ChosenPrecision {
    let nodes = Graph::decode(model)
        .map(|graph| graph.nodes.into_iter().map(|node| node.name).collect())
        .unwrap_or_default();
    let layer = LayerInfo {
        name: "some of the nodes".to_owned(),
        operator: String::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        weights: None,
        tactic: None,
        placement: Some("CPUExecutionProvider".to_owned()),
        nodes,
    };
    ChosenPrecision { source: PrecisionSource::Unstated, layers: vec![layer] }
}

/// How an error while a session is made ends a case: a refusal, unless ONNX Runtime calls it its own fault.
fn refusal(error: &ort::Error) -> Outcome {
    use ort::ErrorCode::RuntimeException;
    let text = describe(error);
    match error.code() {
        RuntimeException => Outcome::Failed(text),
        _ => Outcome::Rejected(text),
    }
}

/// How an error while running ends a case: a refusal only where the inputs are at fault.
fn failure(error: &ort::Error) -> Outcome {
    use ort::ErrorCode::{InvalidArgument, NotImplemented};
    let text = describe(error);
    match error.code() {
        InvalidArgument | NotImplemented => Outcome::Rejected(text),
        _ => Outcome::Failed(text),
    }
}

/// The error's code, a colon, and its text.
fn describe(error: &ort::Error) -> String {
    format!("{:?}: {}", error.code(), error.message())
}

fn inferred_shapes(session: &Session) -> Option<Vec<Vec<i64>>> {
    session.outputs().iter().map(|output| output.dtype().tensor_shape().map(|shape| shape.to_vec())).collect()
}

impl Loaded {
    fn new(session: Session, log: Log) -> Self {
        let known_outputs = inferred_shapes(&session).and_then(|shapes| {
            shapes
                .into_iter()
                .map(|shape| shape.into_iter().map(|extent| usize::try_from(extent).ok()).collect())
                .collect()
        });
        Self { session, known_outputs, log }
    }

    /// Runs once; the outcome tells why there are no outputs.
    pub fn run(&mut self, inputs: &[Tensor]) -> Result<RunOutput, Outcome> {
        let values: Vec<_> =
            inputs.iter().map(value::input).collect::<Result<_, _>>().map_err(|error| failure(&error))?;
        let outputs = match self.poisoned_outputs() {
            // a buffer of the inferred shape is refused where that shape is wrong: what the actual one is, is told
            // by a run without buffers
            Some(selector) => {
                let mark = self.log.mark();
                self.run_into(&values, selector).or_else(|_| {
                    self.log.rewind(mark);
                    self.run_freely(&values)
                })
            }
            None => self.run_freely(&values),
        };
        outputs
            .map(|outputs| RunOutput { outputs, intermediates: Vec::new() })
            .map_err(|error| failure(&error))
    }

    fn poisoned_outputs(&self) -> Option<OutputSelector> {
        let shapes = self.known_outputs.as_ref()?;
        let mut selector = OutputSelector::default();
        for (outlet, shape) in self.session.outputs().iter().zip(shapes) {
            let buffer = value::output(outlet.dtype().tensor_type()?, shape.clone())?.ok()?;
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

/// What hands ONNX Runtime's log to `log`.
pub fn logger(log: Log) -> LoggerFunction {
    Arc::new(move |level, _category, _id, _location, message| match level {
        LogLevel::Verbose | LogLevel::Info => {}
        LogLevel::Warning => log.push(Severity::Warning, message),
        LogLevel::Error => log.push(Severity::Error, message),
        LogLevel::Fatal => log.push(Severity::Fatal, message),
    })
}
