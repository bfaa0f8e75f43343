//! Engines, their execution contexts and their inspectors.

use std::{ffi::c_void, marker::PhantomData};

use crate::{
    Availability, DataType, Error, HostMemory, LayerInformationFormat, Library, OptProfileSelector,
    ProfilingVerbosity, Result, Runtime, TensorIOMode, TensorLocation,
    owned::Owned,
    sys::{
        DimsRef, Ptr, Str, Unsupported,
        enums::ContextAllocation,
        table::{ICudaEngine, IEngineInspector, IExecutionContext, IHostMemory, releases_with},
    },
    tensor::{c_string, dims, text},
};

/// An engine, ready to run.
#[derive(Debug)]
pub struct Engine<'r> {
    raw: Owned<ICudaEngine>,
    runtime: PhantomData<&'r Runtime>,
}

/// A tensor that an engine reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoTensor {
    /// The name.
    pub name: String,
    /// Whether the engine reads or writes the tensor.
    pub mode: TensorIOMode,
    /// The element type.
    pub data_type: DataType,
    /// The shape; a dynamic extent is −1.
    pub shape: Vec<i64>,
    /// Whether the address must be in host or in device memory.
    pub location: TensorLocation,
    /// TensorRT's description of the memory layout.
    pub format: String,
}

impl Runtime {
    /// Deserializes a plan into an engine. The GPU must be one that the plan was built for.
    ///
    /// # Trust
    ///
    /// A plan is code: it holds kernels that run on the GPU and data that TensorRT reads back without checking it, so that whoever
    /// writes a plan controls the process that deserializes it. Pass only bytes that [`Builder`](crate::Builder) made in this
    /// process, or that came from a place that nobody else can write. Never pass a file that was received, downloaded, or found
    /// beside a model. The workers of twinfer deserialize only the plan that they, or the worker that started them, have built a
    /// moment before, and write none to disk.
    pub fn deserialize(&self, plan: &[u8]) -> Result<Engine<'_>> {
        let (blob, size) = (plan.as_ptr().cast_mut().cast(), plan.len());
        let raw = self.library().expect("IRuntime::deserializeCudaEngine", || {
            let runtime = self.raw();
            // SAFETY: the runtime is live and copies what it needs of the plan. Up to TensorRT 9 the method takes a
            // plugin factory too, which may be null.
            let raw = unsafe {
                runtime.deserialize_cuda_engine(blob, size).or_else(|_: Unsupported| {
                    runtime.deserialize_cuda_engine_8(blob, size, std::ptr::null_mut())
                })?
            };
            Ok(ICudaEngine::new(self.library().version(), raw))
        })?;
        Ok(Engine::new(self, raw))
    }
}

impl Engine<'_> {
    pub(crate) fn new(runtime: &Runtime, raw: ICudaEngine) -> Self {
        Self { raw: Owned::new(runtime.library(), raw), runtime: PhantomData }
    }

    fn library(&self) -> Library {
        self.raw.library()
    }

    /// The name of the network from which the engine was built.
    pub fn name(&self) -> Result<String> {
        // SAFETY: the engine is live; the name is copied.
        Ok(unsafe { text(self.raw.raw().get_name()?) })
    }

    /// The number of layers after fusion.
    pub fn layer_count(&self) -> Result<usize> {
        // SAFETY: the engine is live.
        Ok(unsafe { self.raw.raw().get_nb_layers()? }.unsigned_abs() as usize)
    }

    /// The number of optimization profiles that the engine was built with.
    pub fn optimization_profile_count(&self) -> Result<usize> {
        // SAFETY: the engine is live.
        Ok(unsafe { self.raw.raw().get_nb_optimization_profiles()? }.unsigned_abs() as usize)
    }

    /// The device memory that an execution context needs, in bytes.
    pub fn device_memory_size(&self) -> Result<u64> {
        let raw = self.raw.raw();
        // SAFETY: the engine is live. Releases with 64-bit extents have a second version of the method.
        let bytes = unsafe {
            raw.get_device_memory_size_v2()
                .map(i64::unsigned_abs)
                .or_else(|_: Unsupported| raw.get_device_memory_size().map(|bytes| bytes as u64))?
        };
        Ok(bytes)
    }

    /// The level of detail that an inspector of this engine reports.
    pub fn profiling_verbosity(&self) -> Result<ProfilingVerbosity> {
        // SAFETY: the engine is live.
        let value = unsafe { self.raw.raw().get_profiling_verbosity()? };
        let version = self.library().version();
        Ok(ProfilingVerbosity::from_value(value, version)?)
    }

    /// The tensors that the engine reads and writes; since TensorRT 8.5.
    pub fn io_tensors(&self) -> Result<Vec<IoTensor>> {
        // SAFETY: the engine is live.
        let count = unsafe { self.raw.raw().get_nb_io_tensors()? };
        (0..count)
            .map(|index| {
                // SAFETY: the engine is live, the index below the count; the engine owns the name.
                let name = unsafe { self.raw.raw().get_io_tensor_name(index)? };
                // SAFETY: the name is one of the engine's own and lives as long as it.
                unsafe { self.io_tensor(name) }
            })
            .collect()
    }

    /// # Safety
    /// `name` is the address of a NUL-terminated string that lives during the call.
    unsafe fn io_tensor(&self, name: Str) -> Result<IoTensor> {
        let (raw, version) = (self.raw.raw(), self.library().version());
        // SAFETY: the engine is live; the caller upholds that the name is.
        let (mode, data_type, location, shape, format) = unsafe {
            (
                raw.get_tensor_io_mode(name)?,
                raw.get_tensor_data_type(name)?,
                raw.get_tensor_location(name)?,
                raw.get_tensor_shape(name)?,
                text(raw.get_tensor_format_desc(name)?),
            )
        };
        Ok(IoTensor {
            // SAFETY: the caller upholds that the name is a live string.
            name: unsafe { text(name) },
            mode: TensorIOMode::from_value(mode, version)?,
            data_type: DataType::from_value(data_type, version)?,
            shape: shape.extents().unwrap_or_default().to_vec(),
            location: TensorLocation::from_value(location, version)?,
            format,
        })
    }

    /// The smallest, most likely or largest shape that a profile takes for an input; since TensorRT 8.5.
    pub fn profile_shape(&self, input: &str, profile: u16, select: OptProfileSelector) -> Result<Vec<i64>> {
        let (name, select) = (c_string(input)?, select.value(self.library().version())?);
        // SAFETY: the engine is live; it checks name and index.
        let shape = unsafe { self.raw.raw().get_profile_shape(name.as_ptr(), profile.into(), select)? };
        Ok(shape.extents().unwrap_or_default().to_vec())
    }

    /// Serializes the engine to a plan.
    pub fn serialize(&self) -> Result<HostMemory<'_>> {
        let raw = self.library().expect("ICudaEngine::serialize", || {
            // SAFETY: the engine is live; the memory returned is the caller's.
            let raw = unsafe { self.raw.raw().serialize()? };
            Ok(IHostMemory::new(self.library().version(), raw))
        })?;
        Ok(HostMemory::new(self.library(), raw))
    }

    /// Creates an execution context, including the device memory it needs.
    pub fn create_execution_context(&self) -> Result<ExecutionContext<'_>> {
        let (raw, version) = (self.raw.raw(), self.library().version());
        let raw = self.library().expect("ICudaEngine::createExecutionContext", || {
            // SAFETY: the engine is live. Releases that know of no other strategy allocate statically.
            let raw = unsafe {
                match ContextAllocation::Static.value(version) {
                    Ok(strategy) => raw.create_execution_context(strategy)?,
                    Err(_) => raw.create_execution_context_8()?,
                }
            };
            Ok(IExecutionContext::new(version, raw))
        })?;
        Ok(ExecutionContext { raw: Owned::new(self.library(), raw), engine: PhantomData })
    }

    /// Creates an inspector.
    pub fn create_inspector(&self) -> Result<EngineInspector<'_>> {
        let raw = self.library().expect("ICudaEngine::createEngineInspector", || {
            // SAFETY: the engine is live.
            let raw = unsafe { self.raw.raw().create_engine_inspector()? };
            Ok(IEngineInspector::new(self.library().version(), raw))
        })?;
        Ok(EngineInspector { raw: Owned::new(self.library(), raw), subject: PhantomData })
    }
}

/// The state of one execution of an engine.
#[derive(Debug)]
pub struct ExecutionContext<'e> {
    raw: Owned<IExecutionContext>,
    engine: PhantomData<&'e ()>,
}

impl ExecutionContext<'_> {
    fn library(&self) -> Library {
        self.raw.library()
    }

    /// The name.
    pub fn name(&self) -> Result<String> {
        // SAFETY: the context is live; the name is copied.
        Ok(unsafe { text(self.raw.raw().get_name()?) })
    }

    /// Renames the context.
    pub fn set_name(&self, name: &str) -> Result<()> {
        let name = c_string(name)?;
        // SAFETY: the context is live; the library copies the name.
        unsafe { self.raw.raw().set_name(name.as_ptr()) }.map_err(Error::from)
    }

    /// The index of the optimization profile in use.
    pub fn optimization_profile(&self) -> Result<i32> {
        // SAFETY: the context is live.
        Ok(unsafe { self.raw.raw().get_optimization_profile()? })
    }

    /// Switches to another optimization profile, in stream order.
    ///
    /// # Safety
    /// `stream` is null or a live CUDA stream of the current context.
    pub unsafe fn set_optimization_profile(&self, profile: u16, stream: *mut c_void) -> Result<()> {
        self.library().expect_true("IExecutionContext::setOptimizationProfileAsync", || {
            // SAFETY: the context is live; the caller upholds that the stream is.
            unsafe { self.raw.raw().set_optimization_profile_async(profile.into(), stream) }
        })
    }

    /// Sets the shape of an input; since TensorRT 8.5.
    pub fn set_input_shape(&self, input: &str, shape: &[i64]) -> Result<()> {
        let (name, shape) = (c_string(input)?, DimsRef::from(dims(shape)?));
        self.library().expect_true("IExecutionContext::setInputShape", || {
            // SAFETY: the context is live; it checks the name.
            unsafe { self.raw.raw().set_input_shape(name.as_ptr(), shape) }
        })
    }

    /// Whether the shape of every input is known.
    pub fn all_input_dimensions_specified(&self) -> Result<bool> {
        // SAFETY: the context is live.
        Ok(unsafe { self.raw.raw().all_input_dimensions_specified()? })
    }

    /// The shape of an input or output; an extent that is not known yet is −1. Since TensorRT 8.5.
    pub fn tensor_shape(&self, tensor: &str) -> Result<Vec<i64>> {
        let name = c_string(tensor)?;
        // SAFETY: the context is live; it checks the name.
        let shape = unsafe { self.raw.raw().get_tensor_shape(name.as_ptr())? };
        Ok(shape.extents().unwrap_or_default().to_vec())
    }

    /// The strides of an input or output, in elements; since TensorRT 8.5.
    pub fn tensor_strides(&self, tensor: &str) -> Result<Vec<i64>> {
        let name = c_string(tensor)?;
        // SAFETY: the context is live; it checks the name.
        let strides = unsafe { self.raw.raw().get_tensor_strides(name.as_ptr())? };
        Ok(strides.extents().unwrap_or_default().to_vec())
    }

    /// The largest size of an output, in bytes; since TensorRT 8.5.
    pub fn max_output_size(&self, output: &str) -> Result<i64> {
        let name = c_string(output)?;
        // SAFETY: the context is live; it checks the name.
        Ok(unsafe { self.raw.raw().get_max_output_size(name.as_ptr())? })
    }

    /// Infers the shapes of all tensors. Returns the inputs whose shapes or values are still missing. Since TensorRT
    /// 8.5.
    pub fn infer_shapes(&self) -> Result<Vec<String>> {
        let mut names: [Str; 64] = [std::ptr::null(); 64];
        let mark = self.library().mark();
        // SAFETY: the context is live; it writes at most as many names as there is room for, each its own.
        let missing = unsafe { self.raw.raw().infer_shapes(names.len() as i32, names.as_mut_ptr().cast())? };
        match usize::try_from(missing) {
            // SAFETY: the first `count` names were written; they live as long as the engine.
            Ok(count) => Ok(names.iter().take(count).map(|&name| unsafe { text(name) }).collect()),
            Err(_) => Err(self.library().refused("IExecutionContext::inferShapes", mark)),
        }
    }

    /// Sets the address of an input or output; since TensorRT 8.5.
    ///
    /// # Safety
    /// Until the address is changed or the context dropped, at every [`enqueue`](Self::enqueue) `address` points to
    /// memory that the engine may read (an input) or write (an output): device memory, or host memory if
    /// [`IoTensor::location`] says so, large enough for the tensor in its format.
    pub unsafe fn set_tensor_address(&self, tensor: &str, address: *mut c_void) -> Result<()> {
        let name = c_string(tensor)?;
        self.library().expect_true("IExecutionContext::setTensorAddress", || {
            // SAFETY: the context is live; the caller upholds what the address is.
            unsafe { self.raw.raw().set_tensor_address(name.as_ptr(), address) }
        })
    }

    /// The address of an input or output; since TensorRT 8.5.
    pub fn tensor_address(&self, tensor: &str) -> Result<*const c_void> {
        let name = c_string(tensor)?;
        // SAFETY: the context is live; it checks the name.
        Ok(unsafe { self.raw.raw().get_tensor_address(name.as_ptr())? }.cast_const())
    }

    /// The releases whose engines [`enqueue`](Self::enqueue) executes.
    pub fn releases_that_enqueue() -> Availability {
        releases_with("IExecutionContext::enqueueV3")
    }

    /// Enqueues one execution on a stream; since TensorRT 8.5.
    ///
    /// # Safety
    /// `stream` is null or a live CUDA stream of the current context, and every address set with
    /// [`set_tensor_address`](Self::set_tensor_address) stays valid until the stream has completed this execution.
    pub unsafe fn enqueue(&self, stream: *mut c_void) -> Result<()> {
        self.library().expect_true("IExecutionContext::enqueueV3", || {
            // SAFETY: the context is live; the caller upholds what stream and addresses are.
            unsafe { self.raw.raw().enqueue_v3(stream) }
        })
    }

    /// Creates an inspector that knows the shapes of this context.
    pub fn create_inspector<'c>(&'c self, engine: &'c Engine<'_>) -> Result<EngineInspector<'c>> {
        let inspector = engine.create_inspector()?;
        inspector.raw.library().expect_true("IEngineInspector::setExecutionContext", || {
            // SAFETY: inspector and context are live; the inspector cannot outlive the context.
            unsafe { inspector.raw.raw().set_execution_context(self.raw.raw().0.as_ptr() as Ptr) }
        })?;
        Ok(inspector)
    }
}

/// Describes the layers of an engine.
#[derive(Debug)]
pub struct EngineInspector<'e> {
    raw: Owned<IEngineInspector>,
    subject: PhantomData<&'e ()>,
}

impl EngineInspector<'_> {
    /// Describes all layers and bindings. Precision, tactic and origin are included if the engine was built with
    /// [`ProfilingVerbosity::Detailed`].
    pub fn engine_information(&self, format: LayerInformationFormat) -> Result<String> {
        let format = format.value(self.raw.library().version())?;
        // SAFETY: the inspector is live; the text is copied before it is asked again.
        Ok(unsafe { text(self.raw.raw().get_engine_information(format)?) })
    }

    /// Describes one layer, given its index in the engine.
    pub fn layer_information(&self, layer: u32, format: LayerInformationFormat) -> Result<String> {
        let format = format.value(self.raw.library().version())?;
        let layer = i32::try_from(layer).unwrap_or(i32::MAX);
        // SAFETY: the inspector is live and checks the index; the text is copied before it is asked again.
        Ok(unsafe { text(self.raw.raw().get_layer_information(layer, format)?) })
    }
}
