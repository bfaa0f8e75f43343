//! TensorRT, loaded at run time: `trt`, `trt-rtx` and `trt-api`.
//!
//! `twinfer backends options` lists the options, and `options/table.rs` defines them.
//!
//! `trt` and `trt-rtx` read a model with the release's ONNX parser; `trt-api` builds the network layer by layer, the
//! way framework converters do. TF32 is off unless the case or the variant asks for it. Tactics of cuBLAS and cuDNN are left out,
//! as later releases leave them out by default, so that no other library decides what a build contains. Without a
//! GPU, TensorRT-RTX goes as far as the build; TensorRT needs one to make a builder.
//!
//! Output buffers are filled before every run.

mod capabilities;
mod device;
mod effort;
mod execution;
mod guard;
mod hazard;
mod inspection;
mod kernels;
mod layers;
mod limitations;
mod lowering;
mod marked;
mod messages;
mod mps;
mod names;
mod outcomes;
mod plan;
mod plan_error;
mod plan_runner;
mod product;
mod profile;
mod promises;
mod reader;
mod settings;
mod shipped_plan;
mod timings;

use std::{collections::BTreeMap, path::PathBuf};

use nvinfer::{Builder, Library, NetworkDefinition, Typing};
use twinfer_case::{
    BackendName, ChosenPrecision, Description, DeviceMemory, DeviceUse, Observation, Outcome,
    PrecisionSource, Quantization, Stage, Task, Variant,
};
use twinfer_libraries::Store;

use self::{
    device::Device,
    execution::{Engines, Execution},
    guard::Guard,
    inspection::BuildLog,
    lowering::LoweringError,
    names::Names,
    outcomes::{failed, refusal, reported},
    plan_error::PlanError,
    product::builds_without_gpu,
    reader::Reader,
    settings::Settings,
    timings::Timings,
};
use crate::{
    Backend, CudaRuntime, Host, OpenError, RuntimeLibrary,
    hazard::Hazard,
    options::{DEVICE, VariantOptions},
    recorder::{Log, Recorder},
    step::step,
};

pub use self::{
    device::{
        is_full as is_cuda_device_full, is_lost as has_lost_cuda_context, is_present as has_cuda_device,
        memory_of as memory_of_cuda_device,
    },
    hazard::hazard,
    mps::{PROCESSES_A_DEVICE as MPS_PROCESSES_A_DEVICE, is_serving as is_mps_serving, processes_a_device},
    plan_runner::PlanRunner,
};

/// TensorRT or TensorRT-RTX, with one way of reading a model.
pub struct Trt {
    library: Library,
    builder: Builder,
    reader: Reader,
    settings: Settings,
    timings: Timings,
    execution: Option<Execution>,
    options: BTreeMap<String, String>,
    left_out: Option<Hazard>,
    ladder: Vec<BTreeMap<String, String>>,
    log: Log,
    build_log: BuildLog,
}

impl Trt {
    pub fn open(variant: &Variant, host: &mut dyn Host) -> Result<Self, OpenError> {
        let mut options = VariantOptions::of(variant);
        let path = options.take_library();
        let release = options.take_release();
        let ordinal = usize::from(options.take(&DEVICE)?);
        let settings = Settings::take(&mut options)?;
        let memory = options.take_memory()?;
        let left_out = match variant.backend {
            BackendName::TrtRtx => None,
            _ => hazard().left_out(&mut options)?,
        };
        let options = options.finish()?;
        let log = Log::default();
        let library = step("load library", || load(&variant.backend, path, &release))?;
        options.check(library.version())?;
        let mut options = options.values;
        let left_out = left_out.filter(|_| hazard::concerns(library.version()));
        host.cuda_runtime_found(CudaRuntime { library: RuntimeLibrary::File(library.path()), memory })?;
        let build_log = BuildLog::default();
        let layers = build_log.clone();
        messages::keep(library, &log, move |message| layers.push(&message.text));
        let reader = if variant.backend == BackendName::TrtApi { Reader::Layers } else { Reader::Parser };
        let device = step("open device", || Device::open(ordinal, Guard::of(memory)))?
            .filter(|device| device.runs(library.version()));
        let execution = match device {
            Some(device) if settings.has_lean_runtime() => {
                library.check_lean_runtime()?;
                let runner = step("start lean runtime", || host.start_plan_runner(variant))?;
                Some(Execution::Elsewhere { device, runner })
            }
            Some(device) => {
                let has_host_code = settings.is_version_compatible();
                let engines = step("create runtime", || Engines::open(library, device, has_host_code))?;
                Some(Execution::Here(engines))
            }
            None => None,
        };
        if execution.is_none() {
            settings.check_without_gpu(library.version())?;
        }
        let builder = step("create builder", || library.create_builder())?;
        options.insert("level".to_owned(), settings.effort.level_in_force(&builder)?);
        let ladder = settings.effort.ladder(&builder)?;
        let timings = Timings::default();
        Ok(Self {
            library,
            builder,
            reader,
            settings,
            timings,
            execution,
            options,
            left_out,
            ladder,
            log,
            build_log,
        })
    }

    /// A build measures kernels on the device on any level above the lowest, and always where there are no levels.
    fn device_use(&self) -> DeviceUse {
        if self.settings.effort.is_lowest() { DeviceUse::Shared } else { self.device_use_of_timing() }
    }

    /// Workers that measure kernels side by side wait for each other's time slices, unless a service runs them at once
    /// (docs/campaigns.md).
    fn device_use_of_timing(&self) -> DeviceUse {
        if self.execution.is_some() && !mps::is_serving() { DeviceUse::Alone } else { DeviceUse::Shared }
    }

    /// The last stage of a case. What is not executed is built only if that takes no GPU: others may have no kernels for this one.
    fn reaches(&self) -> Stage {
        match &self.execution {
            Some(_) => Stage::Execute,
            None if builds_without_gpu(self.library) => Stage::Build,
            None => Stage::Parse,
        }
    }

    fn observe(&mut self, task: &Task, recorder: &mut Recorder<'_>) -> Result<(), Outcome> {
        let network = self.builder.create_network(Typing::Weak).map_err(failed)?;
        self.read(&network, task)?;
        let outputs = network.outputs().map_err(failed)?;
        let shapes = outputs.iter().map(nvinfer::Tensor::shape).collect::<Result<Option<Vec<_>>, _>>();
        recorder.observation().inferred_shapes = shapes.map_err(failed)?;
        marked::mark(&network, &task.intermediates).map_err(failed)?;
        if task.until.min(self.reaches()) <= Stage::Parse {
            return Ok(());
        }

        recorder.enter(Stage::Build);
        self.build_log.clear();
        let settings = (&self.settings, &self.timings);
        let plan = plan::build(&self.builder, &network, task, settings, self.execution.is_some()).map_err(
            |error| match error {
                PlanError::Inputs(reason) => Outcome::rejected(reason),
                PlanError::Library(error) => failed(error),
            },
        )?;

        let Some(execution) = &mut self.execution else {
            recorder.observation().precision = self
                .build_log
                .take()
                .map(|layers| ChosenPrecision { source: PrecisionSource::BuildLog, layers });
            return Ok(());
        };
        recorder.enter(Stage::Execute);
        let names = Names::of(&network, &task.intermediates).map_err(failed)?;
        execution.run(&plan, &names, task, (recorder, &self.log))
    }

    fn read(&self, network: &NetworkDefinition<'_>, task: &Task) -> Result<(), Outcome> {
        match self.reader {
            Reader::Parser => network
                .create_onnx_parser()
                .and_then(|parser| parser.parse(&task.model))
                .map_err(|error| match error {
                    nvinfer::Error::Parse(failure) => Outcome::Rejected(refusal(&failure)),
                    other => failed(other),
                }),
            Reader::Layers => {
                lowering::lower(network, &task.model, task.runs.first().map_or(&[], Vec::as_slice)).map_err(
                    |error| {
                        Outcome::Rejected(match error {
                            LoweringError::Refused(error) => reported(&error),
                            other => other.to_string().into(),
                        })
                    },
                )
            }
        }
    }
}

impl Backend for Trt {
    fn describe(&self) -> Description {
        let version = self.library.version();
        let (major, minor, patch) = version.parts();
        let how = match self.reader {
            Reader::Parser => "through its ONNX parser",
            Reader::Layers => "layer by layer",
        };
        let lean = self.execution.as_ref().and_then(Execution::lean_runtime);
        let lean = lean.map_or_else(String::new, |version| format!(" (lean runtime {version})"));
        let name = format!("{} {how}{lean}", version.product());
        let left_out = self.left_out.iter().map(Hazard::capability);
        Description {
            capabilities: left_out
                .chain(capabilities::of(version, self.reader, self.execution.is_some()))
                .collect(),
            options: self.options.clone(),
            limitations: limitations::of(version, self.reader),
            quantization: Quantization::FusesOperands,
            quantizes: promises::of_quantizers(),
            arithmetic: self.settings.arithmetic(version),
            float_precision: Some(self.settings.float_precision(version)),
            device_use: self.device_use(),
            ladder: self.ladder.clone(),
            ladder_device_use: self.device_use_of_timing(),
            ..Description::new(name, format!("{major}.{minor}.{patch}"), self.reaches())
        }
    }

    fn run(&mut self, task: &Task, progress: &mut dyn FnMut(Stage)) -> Observation {
        let left_out = self.left_out.as_ref();
        if let Some(objection) = left_out.and_then(|hazard| hazard.objection(&task.model)) {
            return Recorder::start(Stage::Load, self.log.clone(), progress)
                .finish(Outcome::rejected(objection));
        }
        let mut recorder = Recorder::start(Stage::Parse, self.log.clone(), progress);
        let outcome = self.observe(task, &mut recorder).err().unwrap_or(Outcome::Ok);
        recorder.finish(outcome)
    }

    fn fills_outputs(&self) -> bool {
        true
    }

    fn is_lost(&self) -> bool {
        self.execution.as_ref().is_some_and(Execution::is_lost)
    }

    fn device_memory(&self) -> Option<DeviceMemory> {
        self.execution.as_ref()?.memory()
    }
}

/// Loads the release that the options name; without one, the newest that is installed.
fn load(backend: &BackendName, path: PathBuf, release: &str) -> Result<Library, OpenError> {
    if !path.as_os_str().is_empty() {
        return Ok(Library::load(path)?);
    }
    let product = backend.library().unwrap_or_default();
    let name = if release.is_empty() { product.to_owned() } else { format!("{product}-{release}") };
    let installed = Store::open()?.find(&name)?;
    let library = Library::load(installed.library())?;
    if let Some(folder) = &installed.stand_ins {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            library.provide(&entry.path())?;
        }
    }
    Ok(library)
}
