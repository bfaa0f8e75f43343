//! A lean runtime in a process of its own: two releases of TensorRT in one process would bind to each other's symbols.

use twinfer_case::{Description, DeviceMemory, Observation, Outcome, Quantization, Stage, Task, Variant};
use twinfer_libraries::Store;

use super::{device::Device, execution::Engines, guard::Guard, messages, shipped_plan};
use crate::{
    Backend, CudaRuntime, Host, OpenError, RuntimeLibrary,
    options::{DEVICE, VariantOptions},
    recorder::{Log, Recorder},
    step::step,
};

/// Runs plans that another process has built: the models of its tasks are [shipped plans](shipped_plan).
pub struct PlanRunner {
    version: nvinfer::Version,
    engines: Engines,
    log: Log,
}

impl PlanRunner {
    /// Loads the lean runtime that `variant` names. The process that builds the plans has checked the variant's other options.
    pub fn open(variant: &Variant, host: &mut dyn Host) -> Result<Self, OpenError> {
        let no_runtime = || OpenError::PlanRunner { reason: format!("{variant} names no lean runtime") };
        let name = variant.lean_runtime().ok_or_else(no_runtime)?;
        let mut options = VariantOptions::of(variant);
        let ordinal = usize::from(options.take(&DEVICE)?);
        let memory = options.take_memory()?;
        let installed = Store::open()?.find(&name)?;
        let log = Log::default();
        let library = step("load lean runtime", || nvinfer::Library::load(installed.library()))?;
        host.cuda_runtime_found(CudaRuntime { library: RuntimeLibrary::File(library.path()), memory })?;
        messages::keep(library, &log, |_| {});
        let device = step("open device", || Device::open(ordinal, Guard::of(memory)))?;
        let no_gpu = || OpenError::Cuda { device: ordinal, reason: "this machine has no GPU".to_owned() };
        let device = device.ok_or_else(no_gpu)?;
        let engines = step("create runtime", || Engines::open(library, device, true))?;
        Ok(Self { version: library.version(), engines, log })
    }
}

impl Backend for PlanRunner {
    fn describe(&self) -> Description {
        let (major, minor, patch) = self.version.parts();
        let version = format!("{major}.{minor}.{patch}");
        Description {
            quantization: Quantization::FusesOperands,
            ..Description::new("TensorRT's lean runtime", version, Stage::Execute)
        }
    }

    fn run(&mut self, task: &Task, progress: &mut dyn FnMut(Stage)) -> Observation {
        let mut recorder = Recorder::start(Stage::Execute, self.log.clone(), progress);
        let outcome = match shipped_plan::decode(&task.model) {
            Some((names, plan)) => self.engines.run(plan, &names, task, (&mut recorder, &self.log)),
            None => Err(Outcome::failed("no plan was shipped")),
        };
        recorder.finish(outcome.err().unwrap_or(Outcome::Ok))
    }

    fn fills_outputs(&self) -> bool {
        true
    }

    fn is_lost(&self) -> bool {
        self.engines.is_lost()
    }

    fn device_memory(&self) -> Option<DeviceMemory> {
        self.engines.memory()
    }
}
