//! Runs the plans that a builder made: in this process, or with a lean runtime in another one.

use nvinfer::{Library, Runtime};
use twinfer_case::{ChosenPrecision, DeviceMemory, Outcome, PrecisionSource, RunOutput, Stage, Task};

use super::{device::Device, inspection, kernels, names::Names, outcomes::failed, shipped_plan};
use crate::{
    Backend,
    recorder::{Log, Recorder},
};

/// What running a plan takes.
pub enum Execution {
    Here(Engines),
    /// The process that builds uses a GPU too.
    Elsewhere {
        device: Device,
        runner: Box<dyn Backend>,
    },
}

/// A runtime of this process.
pub struct Engines {
    runtime: Runtime,
    device: Device,
}

impl Execution {
    /// Runs `plan`, which was built for `task` and has tensors of these names.
    pub fn run(
        &mut self,
        plan: &[u8],
        names: &Names,
        task: &Task,
        (recorder, log): (&mut Recorder<'_>, &Log),
    ) -> Result<(), Outcome> {
        match self {
            Self::Here(engines) => engines.run(plan, names, task, (recorder, log)),
            Self::Elsewhere { runner, .. } => {
                run_elsewhere(runner.as_mut(), plan, names, task, (recorder, log))
            }
        }
    }

    /// The version of the lean runtime; `None` if there is none.
    pub fn lean_runtime(&self) -> Option<String> {
        match self {
            Self::Here(_) => None,
            Self::Elsewhere { runner, .. } => Some(runner.describe().version),
        }
    }

    /// Whether the context that builds, or the one that runs, fails every call from now on.
    pub fn is_lost(&self) -> bool {
        match self {
            Self::Here(engines) => engines.is_lost(),
            Self::Elsewhere { device, runner } => runner.is_lost() || device.is_lost(),
        }
    }

    pub fn memory(&self) -> Option<DeviceMemory> {
        match self {
            Self::Here(engines) => engines.memory(),
            Self::Elsewhere { device, .. } => device.memory(),
        }
    }
}

/// Hands a plan to the process of the lean runtime, and records what that observed.
fn run_elsewhere(
    runner: &mut dyn Backend,
    plan: &[u8],
    names: &Names,
    task: &Task,
    (recorder, log): (&mut Recorder<'_>, &Log),
) -> Result<(), Outcome> {
    let model = shipped_plan::encode(names, plan).map_err(|error| Outcome::failed(error.to_string()))?;
    let shipped = Task {
        model,
        hash: task.hash,
        request: task.request.clone(),
        runs: task.runs.clone(),
        until: Stage::Execute,
        intermediates: Vec::new(),
        output_bytes: task.output_bytes,
        filling: task.filling,
    };
    let observed = runner.run(&shipped, &mut |_| {});
    for line in observed.log {
        log.push(line.severity, &line.text);
    }
    let recorded = recorder.observation();
    recorded.precision = observed.precision;
    recorded.algorithms = observed.algorithms;
    recorded.out_of_bounds.extend(observed.out_of_bounds);
    observed.runs.into_iter().for_each(|run| recorder.push_run(run));
    match observed.outcome {
        Outcome::Ok => Ok(()),
        other => Err(other),
    }
}

impl Engines {
    /// A runtime of `library`, which runs version-compatible engines if `has_host_code`.
    pub fn open(library: Library, device: Device, has_host_code: bool) -> nvinfer::Result<Self> {
        let runtime = library.create_runtime()?;
        if has_host_code {
            runtime.set_engine_host_code_allowed(true)?;
        }
        Ok(Self { runtime, device })
    }

    /// Runs `plan` for each run of `task`, whose inputs are in the order of `names`.
    pub fn run(
        &self,
        plan: &[u8],
        names: &Names,
        task: &Task,
        (recorder, log): (&mut Recorder<'_>, &Log),
    ) -> Result<(), Outcome> {
        let engine = self.runtime.deserialize(plan).map_err(failed)?;
        let context = engine.create_execution_context().map_err(failed)?;
        let precision = self.precision(&engine, log).map_err(failed)?;
        recorder.observation().algorithms =
            precision.as_ref().and_then(|precision| kernels::algorithms(&precision.layers));
        recorder.observation().precision = precision;
        let io = engine.io_tensors().map_err(failed)?;
        let filling = task.filling.outputs.unwrap_or_default();
        for inputs in &task.runs {
            let writes = &mut recorder.observation().out_of_bounds;
            let outputs = self.device.run(&context, &io, names, (inputs, filling), writes);
            let outputs = outputs.map_err(Outcome::failed)?;
            recorder.push_run(RunOutput::named(outputs, &names.intermediates));
        }
        Ok(())
    }

    /// What the engine's inspector says about the layers. An engine that contains a runtime of its own may have no inspector; what is
    /// logged about that is no fault of the case.
    fn precision(&self, engine: &nvinfer::Engine<'_>, log: &Log) -> nvinfer::Result<Option<ChosenPrecision>> {
        let mark = log.mark();
        let layers = match inspection::layers(engine) {
            Ok(None) | Err(nvinfer::Error::Refused { .. }) if self.has_host_code() => {
                log.rewind(mark);
                None
            }
            layers => layers?,
        };
        Ok(layers.map(|layers| ChosenPrecision { source: PrecisionSource::EngineInspector, layers }))
    }

    fn has_host_code(&self) -> bool {
        self.runtime.engine_host_code_allowed().unwrap_or(false)
    }

    pub fn is_lost(&self) -> bool {
        self.device.is_lost()
    }

    pub fn memory(&self) -> Option<DeviceMemory> {
        self.device.memory()
    }
}
