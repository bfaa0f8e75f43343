//! ONNX Runtime alone, without any code of the harness: the highest rate that a campaign could reach.

use std::{thread, time::Instant};

use ort::{
    environment::Environment,
    session::{Session, SessionInputValue},
    value::TensorRef,
};
use twinfer_case::Task;
use twinfer_libraries::Store;
use twinfer_onnx::{Tensor, TensorData};

use crate::{BenchError, Fault, usage::Usage};

/// The result of running ONNX Runtime alone.
pub struct Bare {
    /// The number of models whose session was created and run once.
    pub executed: u64,
    /// The number of models that ONNX Runtime refused.
    pub refused: u64,
    /// Wall time.
    pub seconds: f64,
    /// Processor time.
    pub processor: f64,
}

impl Bare {
    /// The sum of both.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            executed: self.executed + other.executed,
            refused: self.refused + other.refused,
            seconds: self.seconds + other.seconds,
            processor: self.processor + other.processor,
        }
    }

    /// Executed models per second.
    pub fn rate(&self) -> f64 {
        self.executed as f64 / self.seconds
    }

    /// Microseconds of processor time per executed model.
    pub fn micros(&self) -> f64 {
        self.processor * 1e6 / self.executed as f64
    }
}

/// The ONNX Runtime of this process, which can be loaded once.
pub struct Runtime(Environment);

impl Runtime {
    /// Loads the installed library.
    pub fn load() -> Result<Self, BenchError> {
        let library = Store::open()?.find("onnxruntime")?;
        let path = library.library();
        let failed = |reason: String| Fault::environment(format!("cannot load {}: {reason}", path.display()));
        let builder = ort::init_from(path).map_err(|error| failed(error.to_string()))?;
        let environment = builder.with_telemetry(false).build().map_err(|error| failed(error.to_string()))?;
        environment.set_log_level(ort::logging::LogLevel::Fatal);
        Ok(Self(environment))
    }

    /// Creates a session for every model and runs it once, on `threads` threads.
    pub fn measure(&self, tasks: &[Task], threads: usize) -> Bare {
        let (started, before) = (Instant::now(), Usage::now());
        let executed = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|first| {
                    let (environment, share) = (&self.0, tasks.iter().skip(first).step_by(threads));
                    scope
                        .spawn(move || share.filter(|task| execute(environment, task).is_ok()).count() as u64)
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap_or(0)).sum()
        });
        let seconds = started.elapsed().as_secs_f64();
        let processor = Usage::now().since(before).processor();
        Bare { executed, refused: tasks.len() as u64 - executed, seconds, processor }
    }
}

fn execute(environment: &Environment, task: &Task) -> ort::Result<()> {
    let mut session = Session::builder(environment)?
        .with_intra_threads(1)?
        .with_inter_threads(1)?
        .commit_from_memory(&task.model)?;
    let inputs = task.runs.first().map(Vec::as_slice).unwrap_or_default();
    let values: Vec<SessionInputValue> = inputs.iter().map(input).collect::<ort::Result<_>>()?;
    session.run(values.as_slice())?;
    Ok(())
}

fn input(tensor: &Tensor) -> ort::Result<SessionInputValue<'_>> {
    let shape = tensor.shape.as_slice();
    match &tensor.data {
        TensorData::Float(elements) => {
            TensorRef::from_array_view((shape, elements.as_slice())).map(SessionInputValue::from)
        }
        TensorData::Float16(elements) => {
            TensorRef::from_array_view((shape, elements.as_slice())).map(SessionInputValue::from)
        }
        _ => Err(ort::Error::new("the families that are measured have no inputs of this type")),
    }
}
