//! ONNX Runtime, loaded at run time: `ort:cpu`, `ort:cuda`, and with a plugin `ort:ep=openvino` and the like.
//!
//! `twinfer backends options` lists the options, and `options/table.rs` defines them.
//!
//! The algorithm search is fixed to `heuristic`: it is a function of the problem's shape, where ONNX Runtime's own
//! default, `exhaustive`, times candidates and may choose another one each time. TF32 is off unless the case asks
//! for it. One thread computes. A provider that does not register is an error; nodes that ONNX Runtime places on
//! its own CPU provider in a session of another provider are reported in the observation.
//!
//! What graph optimizations made of a graph with quantizers is read from the model that the session writes into memory.
//!
//! Output buffers are allocated here and filled wherever the session knows the output's shape before it runs. A
//! CUDA session computes into device memory of its own and copies, so that the filling shows there only what was not
//! copied.

mod capabilities;
mod choices;
mod hazard;
#[cfg(feature = "ort-plugins")]
mod loaded_plugin;
#[cfg(not(feature = "ort-plugins"))]
#[path = "ort/no_plugin.rs"]
mod loaded_plugin;
mod optimized;
mod placement;
mod plugin;
mod promises;
mod session;
mod value;

use std::{
    collections::BTreeMap,
    fmt::Display,
    path::{Path, PathBuf},
};

use ort::environment::Environment;
use twinfer_case::{BackendName, Description, DeviceMemory, Observation, Outcome, Stage, Task, Variant};
use twinfer_libraries::Store;

pub use self::hazard::hazard;
use self::{
    choices::{Provider, ladder},
    plugin::{Plugin, PluginLibrary},
    session::Sessions,
};
use crate::{
    Backend, CudaRuntime, Host, OpenError, RuntimeLibrary,
    given_library::ORT_VARIABLE,
    hazard::Hazard,
    options::{ALGORITHM, DEVICE, OPTIMIZATION, VariantOptions},
    recorder::{Log, Recorder},
    step::step,
    trt::{has_lost_cuda_context, is_cuda_device_full, memory_of_cuda_device},
};

/// ONNX Runtime with one execution provider.
pub struct Ort {
    sessions: Sessions,
    /// The library of the provider, if ONNX Runtime loaded it as a plugin.
    plugin: Option<PluginLibrary>,
    version: String,
    newest_opset: i64,
    options: BTreeMap<String, String>,
    left_out: Option<Hazard>,
    log: Log,
}

impl Ort {
    pub fn open(variant: &Variant, host: &mut dyn Host) -> Result<Self, OpenError> {
        let mut options = VariantOptions::of(variant);
        let library = options.take_library();
        let release = options.take_release();
        let level = options.take(&OPTIMIZATION)?;
        let given_plugin = options.take_plugin();
        let provider = provider(&variant.backend, &mut options)?;
        let left_out = match provider {
            Provider::Cuda { .. } => hazard().left_out(&mut options)?,
            Provider::Cpu | Provider::Plugin(_) => None,
        };
        let options = options.finish()?.values;
        let log = Log::default();
        let library = locate(library, variant.backend.library().unwrap_or_default(), &release)?;
        let plugin = match provider {
            Provider::Plugin(plugin) => {
                Some(PluginLibrary::locate(plugin, given_plugin, &version_in(&library))?)
            }
            Provider::Cpu | Provider::Cuda { .. } => None,
        };
        let environment = step("load library", || load(&library, &log))?;
        if let (Some(library), Provider::Plugin(plugin)) = (&plugin, provider) {
            step("register plugin", || loaded_plugin::register(&environment, plugin, library))?;
        }
        if let Provider::Cuda { memory, .. } = provider {
            for name in CUDA_RUNTIMES {
                host.cuda_runtime_found(CudaRuntime { library: RuntimeLibrary::Name(name), memory })?;
            }
        }
        let sessions = Sessions::new(environment, provider, level, log.clone());
        step("create session", || sessions.probe()).map_err(|error| of_provider(error, provider))?;
        let newest_opset = sessions.newest_opset();
        Ok(Self { sessions, plugin, version: version(&library), newest_opset, options, left_out, log })
    }
}

/// Why a provider did not register: a GPU that serves no further process is no fault of the installation.
fn of_provider(error: OpenError, provider: Provider) -> OpenError {
    let Provider::Cuda { device, .. } = provider else { return error };
    let device = usize::try_from(device).ok().filter(|device| is_cuda_device_full(*device));
    device.map_or(error, |device| OpenError::FullDevice { device })
}

fn provider(backend: &BackendName, options: &mut VariantOptions) -> Result<Provider, OpenError> {
    if *backend == BackendName::OrtCuda {
        return Ok(Provider::Cuda {
            device: options.take(&DEVICE)?.into(),
            search: options.take(&ALGORITHM)?,
            memory: options.take_memory()?,
        });
    }
    let place = usize::from(options.take(&DEVICE)?);
    Ok(Plugin::of(backend, place).map_or(Provider::Cpu, Provider::Plugin))
}

impl Backend for Ort {
    fn describe(&self) -> Description {
        let provider = self.sessions.provider();
        let name = match &self.plugin {
            Some(plugin) => format!("{} in ONNX Runtime", plugin.described(provider.name())),
            None => format!("ONNX Runtime {}", provider.name()),
        };
        let left_out = self.left_out.iter().map(Hazard::capability);
        Description {
            capabilities: left_out.chain(capabilities::of(provider, self.newest_opset)).collect(),
            options: self.options.clone(),
            limitations: capabilities::limitations(provider, self.sessions.level()),
            quantization: capabilities::quantization(provider, self.sessions.level()),
            quantizes: promises::of_quantizers(provider, self.sessions.level()),
            arithmetic: capabilities::arithmetic(provider, self.sessions.level()),
            ladder: ladder(self.sessions.level()),
            ..Description::new(name, &self.version, Stage::Execute)
        }
    }

    fn run(&mut self, task: &Task, progress: &mut dyn FnMut(Stage)) -> Observation {
        let left_out = self.left_out.as_ref();
        if let Some(objection) = left_out.and_then(|hazard| hazard.objection(&task.model)) {
            return Recorder::start(Stage::Load, self.log.clone(), progress)
                .finish(Outcome::rejected(objection));
        }
        let mut recorder = Recorder::start(Stage::Parse, self.log.clone(), progress);
        let mut session = match self.sessions.create(task, &mut recorder) {
            Ok(session) => session,
            Err(outcome) => return recorder.finish(outcome),
        };
        recorder.enter(Stage::Execute);
        let filling = task.filling.outputs.unwrap_or_default();
        for inputs in &task.runs {
            match session.run(inputs, filling) {
                Ok(outputs) => recorder.push_run(outputs),
                Err(outcome) => return recorder.finish(outcome),
            }
        }
        recorder.finish(Outcome::Ok)
    }

    fn fills_outputs(&self) -> bool {
        true
    }

    fn is_lost(&self) -> bool {
        match self.sessions.provider() {
            Provider::Cuda { device, .. } => usize::try_from(device).is_ok_and(has_lost_cuda_context),
            Provider::Cpu | Provider::Plugin(_) => false,
        }
    }

    fn device_memory(&self) -> Option<DeviceMemory> {
        match self.sessions.provider() {
            Provider::Cuda { device, .. } => memory_of_cuda_device(usize::try_from(device).ok()?),
            Provider::Cpu | Provider::Plugin(_) => None,
        }
    }
}

/// The library's file: as the variant says, as `ORT_DYLIB_PATH` says, or as it was installed.
fn locate(option: PathBuf, product: &str, release: &str) -> Result<PathBuf, OpenError> {
    if !option.as_os_str().is_empty() {
        return Ok(option);
    }
    if !release.is_empty() {
        return Ok(Store::open()?.find(&format!("{product}-{release}"))?.library().to_owned());
    }
    if let Some(path) = std::env::var_os(ORT_VARIABLE) {
        return Ok(path.into());
    }
    Ok(Store::open()?.find(product)?.library().to_owned())
}

/// The libraries that have a CUDA runtime of their own and ask the driver for something in every session, and the CUDA runtime
/// through which the provider allocates (docs/memory.md); the provider opens them by name.
const CUDA_RUNTIMES: [&str; 6] = [
    "libcudnn_graph.so.9",
    "libcudnn_ops.so.9",
    "libcudnn_cnn.so.9",
    "libcublasLt.so.13",
    "libcublas.so.13",
    "libcudart.so.13",
];

fn load(path: &Path, log: &Log) -> Result<Environment, OpenError> {
    let failed = |reason: String| OpenError::Load { path: path.display().to_string(), reason };
    // the loader does not say that there is no file
    let unloadable =
        |error: &dyn Display| path.metadata().map_or_else(|none| none.to_string(), |_| error.to_string());
    let environment = ort::init_from(path)
        .map_err(|error| failed(unloadable(&error)))?
        .with_name("twinfer")
        .with_telemetry(false)
        .with_logger(session::logger(log.clone()))
        .build()
        .map_err(|error| failed(error.to_string()))?;
    environment.set_log_level(ort::logging::LogLevel::Warning);
    Ok(environment)
}

/// The release in the library's file name; otherwise ONNX Runtime's own build line.
fn version(library: &Path) -> String {
    let named = version_in(library);
    if named.is_empty() { ort::info().to_owned() } else { named }
}

/// The release in the library's file name, `libonnxruntime.so.1.31.1`; empty if there is none.
fn version_in(library: &Path) -> String {
    let resolved = library.canonicalize().unwrap_or_else(|_| library.to_owned());
    let name = resolved.file_name().unwrap_or_default().to_string_lossy();
    name.split_once(".so.").map(|(_, release)| release.to_owned()).unwrap_or_default()
}
