//! CUDA, as far as the tests need it.

use std::{error::Error as StdError, ffi::c_void, sync::Arc};

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, sys::CUdevice_attribute};
use nvinfer::{Error, ExecutionContext, Product, Version};

use crate::process::{on_each_lean_runtime, on_each_release_without_its_gpu};

/// Why there is no GPU, if there is none.
pub fn absent() -> Option<String> {
    // SAFETY: looking for the CUDA driver has no preconditions.
    if !unsafe { cudarc::driver::sys::is_culib_present() } {
        return Some("no CUDA device (there is no CUDA driver)".to_owned());
    }
    CudaContext::new(0).err().map(|error| format!("no CUDA device ({error})"))
}

/// Why engines of `version` cannot run here, if they cannot.
pub fn cannot_run(version: Version) -> Option<String> {
    if let Some(reason) = absent() {
        return Some(reason);
    }
    let (major, _) = compute_capability();
    let is_hopper = major == 9;
    (version.product() == Product::TensorRtRtx && is_hopper)
        .then(|| format!("{version} builds engines for other GPUs than compute capability {major}"))
}

/// Why this crate executes no engines of `version`, if it does not.
pub fn lacks_enqueue(version: Version) -> Option<String> {
    let executes = ExecutionContext::releases_that_enqueue().includes(version);
    (!executes).then(|| format!("{version} has no call that executes an engine as later releases do"))
}

/// Why `version` builds no engines for this GPU, if it does not: TensorRT 8.4 has kernels up to compute capability 8.7.
pub fn lacks_kernels(version: Version) -> Option<String> {
    // only TensorRT needs a GPU to get here
    let is_old = version.product() == Product::TensorRt && version.parts() < (8, 5, 0);
    let (major, minor) = is_old.then(compute_capability)?;
    ((major, minor) > (8, 7))
        .then(|| format!("{version} has no kernels for compute capability {major}.{minor}"))
}

fn compute_capability() -> (i32, i32) {
    let attribute =
        |attribute| CudaContext::new(0).and_then(|context| context.attribute(attribute)).unwrap_or(0);
    (
        attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
    )
}

#[test]
fn builder_and_runtime_without_a_gpu_are_typed_errors() {
    on_each_release_without_its_gpu(|library| {
        for error in [library.create_builder().err(), library.create_runtime().err()] {
            let error = error.ok_or("created without a GPU")?;
            let is_typed = matches!(error, Error::NoGpu { version, .. } if version == library.version());
            assert!(is_typed, "{error}");
            assert!(error.to_string().contains("needs a GPU"), "{error}");
        }
        Ok(())
    });
}

#[test]
fn lean_runtime_runs_engines_and_builds_none() {
    on_each_lean_runtime(|library| {
        let (builder, runtime) = (library.create_builder(), library.create_runtime());
        if let Some(reason) = absent() {
            let is_refused = |error: Option<Error>| matches!(error, Some(Error::NoGpu { .. }));
            assert!(is_refused(builder.err()) && is_refused(runtime.err()), "{reason}");
            return Ok(());
        }
        let error = builder.expect_err("a lean runtime has no builder");
        assert!(matches!(error, Error::MissingSymbol { .. }), "{error}");
        let runtime = runtime?;
        assert!(!runtime.engine_host_code_allowed()?);
        runtime.set_engine_host_code_allowed(true)?;
        assert!(runtime.engine_host_code_allowed()?);
        let error = runtime.deserialize(b"no plan").expect_err("no plan");
        assert!(matches!(error, Error::Refused { .. }), "{error}");
        Ok(())
    });
}

/// A stream, and the runs of an engine on it.
pub struct Device {
    stream: Arc<CudaStream>,
}

impl Device {
    pub fn open() -> Result<Self, Box<dyn StdError>> {
        Ok(Self { stream: CudaContext::new(0)?.new_stream()? })
    }

    pub fn stream(&self) -> *mut c_void {
        self.stream.cu_stream().cast()
    }

    /// Runs `context` on one input of floats and returns one output of `length` floats.
    pub fn run(
        &self,
        context: &ExecutionContext<'_>,
        (input, values): (&str, &[f32]),
        (output, length): (&str, usize),
    ) -> Result<Vec<f32>, Box<dyn StdError>> {
        let source: CudaSlice<f32> = self.stream.clone_htod(values)?;
        let mut target: CudaSlice<f32> = self.stream.clone_htod(&vec![f32::NAN; length])?;
        let (from, to) = (source.device_ptr(&self.stream).0, target.device_ptr_mut(&self.stream).0);
        // SAFETY: both buffers are on the device, hold what the engine reads and writes, and outlive the run, which
        // is waited for below.
        unsafe {
            context.set_tensor_address(input, from as *mut c_void)?;
            context.set_tensor_address(output, to as *mut c_void)?;
            assert_eq!(context.tensor_address(output)? as u64, to);
            context.enqueue(self.stream())?;
        }
        self.stream.synchronize()?;
        Ok(self.stream.clone_dtoh(&target)?)
    }
}
