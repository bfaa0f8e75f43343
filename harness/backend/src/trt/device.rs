//! CUDA memory and streams: the one module of the backends that handles addresses.
#![expect(unsafe_code, reason = "device addresses and streams are handed to TensorRT")]

use std::{ffi::c_void, sync::Arc};

use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError,
    sys::{CUdevice_attribute, cudaError_enum::CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, is_culib_present},
};
use nvinfer::{ExecutionContext, IoTensor, Product, TensorIOMode, TensorLocation, Version};
use twinfer_case::{DeviceMemory, OutOfBoundsWrite, OutputFilling};
use twinfer_onnx::{DataType, Tensor};

use super::{guard::Guard, names::Names};
use crate::OpenError;

/// Whether there is a CUDA driver, and a GPU behind it.
pub fn is_present() -> bool {
    // SAFETY: looking for the CUDA driver has no preconditions.
    unsafe { is_culib_present() && CudaContext::device_count().is_ok_and(|count| count > 0) }
}

/// Whether the primary context of a GPU, which ONNX Runtime uses, fails every call from now on.
pub fn is_lost(ordinal: usize) -> bool {
    is_present() && CudaContext::new(ordinal).and_then(|context| context.synchronize()).is_err()
}

/// Whether a GPU serves no further process, which is why ONNX Runtime did not open it.
pub fn is_full(ordinal: usize) -> bool {
    is_present() && CudaContext::new(ordinal).is_err_and(is_of_full_device)
}

/// The memory of the GPU that ONNX Runtime uses.
pub fn memory_of(ordinal: usize) -> Option<DeviceMemory> {
    let context = is_present().then(|| CudaContext::new(ordinal).ok())??;
    memory(&context)
}

fn memory(context: &CudaContext) -> Option<DeviceMemory> {
    let (free, total) = context.mem_get_info().ok()?;
    Some(DeviceMemory { free: free as u64, total: total as u64 })
}

/// Why a GPU was not opened.
fn unusable(device: usize, error: DriverError) -> OpenError {
    if is_of_full_device(error) {
        return OpenError::FullDevice { device };
    }
    OpenError::Cuda { device, reason: error.to_string() }
}

fn is_of_full_device(error: DriverError) -> bool {
    error.0 == CUDA_ERROR_MPS_MAX_CLIENTS_REACHED
}

/// A GPU with a stream of its own.
pub struct Device {
    stream: Arc<CudaStream>,
    guard: Guard,
    compute_capability: (i32, i32),
}

impl Device {
    /// Opens a GPU; `None` on a machine without a CUDA driver or without any GPU. Buffers are allocated with `guard`.
    pub fn open(ordinal: usize, guard: Guard) -> Result<Option<Self>, OpenError> {
        if !is_present() {
            return Ok(None);
        }
        Self::of(ordinal, guard).map(Some).map_err(|error| unusable(ordinal, error))
    }

    fn of(ordinal: usize, guard: Guard) -> Result<Self, DriverError> {
        let context = CudaContext::new(ordinal)?;
        let compute_capability = (
            context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        Ok(Self { stream: context.new_stream()?, guard, compute_capability })
    }

    /// Its memory.
    pub fn memory(&self) -> Option<DeviceMemory> {
        memory(self.stream.context())
    }

    /// Whether its context fails every call from now on: errors such as an illegal address are sticky.
    pub fn is_lost(&self) -> bool {
        self.stream.context().synchronize().is_err()
    }

    /// Whether engines of a release run here: TensorRT-RTX is made for compute capability 8.0, 8.6, 8.9, 12.0 and up, and TensorRT
    /// 8.4 has no call that executes an engine as later releases do.
    pub fn runs(&self, version: Version) -> bool {
        match version.product() {
            Product::TensorRt => ExecutionContext::releases_that_enqueue().includes(version),
            Product::TensorRtRtx => matches!(self.compute_capability, (8, 0 | 6 | 9) | (12.., _)),
        }
    }

    /// Runs an engine once, on inputs in the order of `names`, and returns its outputs in that order. Adds to `writes` what it has
    /// written behind its buffers.
    pub fn run(
        &self,
        context: &ExecutionContext<'_>,
        io: &[IoTensor],
        names: &Names,
        (inputs, filling): (&[Tensor], OutputFilling),
        writes: &mut Vec<OutOfBoundsWrite>,
    ) -> Result<Vec<Tensor>, String> {
        if let Some(tensor) = io.iter().find(|tensor| tensor.location != TensorLocation::Device) {
            return Err(format!("the engine wants {} on the host", tensor.name));
        }
        let read = ordered(io, TensorIOMode::Input, &names.inputs)?;
        let written = ordered(io, TensorIOMode::Output, &names.outputs)?;
        if read.len() != inputs.len() {
            return Err(format!("the engine reads {} tensors, the run has {}", read.len(), inputs.len()));
        }
        for (tensor, input) in read.iter().zip(inputs) {
            let shape: Vec<i64> = input.shape.iter().map(|&extent| extent as i64).collect();
            context.set_input_shape(&tensor.name, &shape).map_err(text)?;
        }
        let sources = inputs.iter().map(|input| self.upload(input)).collect::<Result<Vec<_>, _>>()?;
        let mut targets = written
            .iter()
            .map(|tensor| self.target(context, tensor, filling))
            .collect::<Result<Vec<_>, _>>()?;
        self.enqueue(context, (&read, &sources), (&written, &mut targets))?;
        if self.guard.is_set() {
            for source in &sources {
                writes.extend(self.guard.change(&self.contents(source)?));
            }
        }
        targets.into_iter().map(|(filled, buffer)| self.download(filled, &buffer, writes)).collect()
    }

    fn enqueue(
        &self,
        context: &ExecutionContext<'_>,
        (read, sources): (&[&IoTensor], &[CudaSlice<u8>]),
        (written, targets): (&[&IoTensor], &mut [(Tensor, CudaSlice<u8>)]),
    ) -> Result<(), String> {
        for (tensor, source) in read.iter().zip(sources) {
            // SAFETY: the buffer holds the tensor in row-major order, for which the engine was built, and outlives
            // the run, which is waited for below.
            unsafe {
                context.set_tensor_address(&tensor.name, source.device_ptr(&self.stream).0 as *mut c_void)
            }
            .map_err(text)?;
        }
        for (tensor, (_, target)) in written.iter().zip(targets) {
            // SAFETY: the buffer has room for the tensor at the shape the context computed, and outlives the run.
            unsafe {
                context.set_tensor_address(&tensor.name, target.device_ptr_mut(&self.stream).0 as *mut c_void)
            }
            .map_err(text)?;
        }
        // SAFETY: the stream is live, and the addresses are good until it is synchronized, here.
        unsafe { context.enqueue(self.stream.cu_stream().cast()) }.map_err(text)?;
        self.stream.synchronize().map_err(|error| format!("the run failed on the GPU: {error}"))
    }

    fn upload(&self, tensor: &Tensor) -> Result<CudaSlice<u8>, String> {
        let mut bytes = tensor.to_le_bytes();
        if bytes.is_empty() {
            // An allocation of no bytes has no address.
            bytes.push(0);
        }
        self.guard.extend(&mut bytes);
        self.stream.clone_htod(&bytes).map_err(|error| format!("cannot copy to the GPU: {error}"))
    }

    /// A buffer for an output that holds `filling`, and what it was filled with.
    fn target(
        &self,
        context: &ExecutionContext<'_>,
        tensor: &IoTensor,
        filling: OutputFilling,
    ) -> Result<(Tensor, CudaSlice<u8>), String> {
        let shape = context.tensor_shape(&tensor.name).map_err(text)?;
        let extents: Option<Vec<usize>> = shape.iter().map(|&extent| usize::try_from(extent).ok()).collect();
        let dtype =
            dtype(tensor.data_type).ok_or_else(|| format!("{} is {:?}", tensor.name, tensor.data_type))?;
        let filled = extents
            .and_then(|extents| filling.buffer(dtype, extents))
            .ok_or_else(|| format!("{} has shape {shape:?}", tensor.name))?;
        let buffer = self.upload(&filled)?;
        Ok((filled, buffer))
    }

    /// The bytes of a buffer, guard bytes included.
    fn contents(&self, buffer: &CudaSlice<u8>) -> Result<Vec<u8>, String> {
        self.stream.clone_dtoh(buffer).map_err(|error| format!("cannot copy from the GPU: {error}"))
    }

    fn download(
        &self,
        filled: Tensor,
        buffer: &CudaSlice<u8>,
        writes: &mut Vec<OutOfBoundsWrite>,
    ) -> Result<Tensor, String> {
        let dtype = filled.data.dtype();
        let mut bytes = self.contents(buffer)?;
        writes.extend(self.guard.change(&bytes));
        bytes.truncate(filled.data.len() * dtype.size());
        Tensor::from_le_bytes(dtype, filled.shape, &bytes).map_err(|error| error.to_string())
    }
}

/// The tensors of an engine that are called `names`, in that order; an error unless these are all of their mode.
fn ordered<'t>(
    io: &'t [IoTensor],
    mode: TensorIOMode,
    names: &[String],
) -> Result<Vec<&'t IoTensor>, String> {
    let tensors: Vec<&IoTensor> = io.iter().filter(|tensor| tensor.mode == mode).collect();
    if tensors.len() != names.len() {
        return Err(format!(
            "the engine has {} tensors of {mode:?}, the network {}",
            tensors.len(),
            names.len()
        ));
    }
    let called = |name: &String| tensors.iter().find(|tensor| tensor.name == *name).copied();
    names.iter().map(|name| called(name).ok_or_else(|| format!("the engine has no tensor {name}"))).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn text(error: nvinfer::Error) -> String {
    error.to_string()
}

/// The ONNX type that a TensorRT type is.
pub fn dtype(data_type: nvinfer::DataType) -> Option<DataType> {
    Some(match data_type {
        nvinfer::DataType::Float => DataType::Float,
        nvinfer::DataType::Half => DataType::Float16,
        nvinfer::DataType::Bf16 => DataType::Bfloat16,
        nvinfer::DataType::Int8 => DataType::Int8,
        nvinfer::DataType::Uint8 => DataType::Uint8,
        nvinfer::DataType::Int32 => DataType::Int32,
        nvinfer::DataType::Int64 => DataType::Int64,
        nvinfer::DataType::Bool => DataType::Bool,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(name: &str, mode: TensorIOMode) -> IoTensor {
        IoTensor {
            name: name.to_owned(),
            mode,
            data_type: nvinfer::DataType::Float,
            shape: vec![1],
            location: TensorLocation::Device,
            format: String::new(),
        }
    }

    #[test]
    fn tensors_are_paired_by_name_whatever_order_the_engine_has() {
        let io = [
            tensor("b", TensorIOMode::Input),
            tensor("y", TensorIOMode::Output),
            tensor("a", TensorIOMode::Input),
        ];
        let inputs = |names: [&str; 2]| {
            ordered(&io, TensorIOMode::Input, &names.map(str::to_owned))
                .map(|found| found.iter().map(|tensor| tensor.name.clone()).collect::<Vec<_>>())
        };
        assert_eq!(inputs(["a", "b"]).unwrap(), ["a", "b"]);
        assert_eq!(inputs(["b", "a"]).unwrap(), ["b", "a"]);
        assert_eq!(inputs(["a", "y"]).unwrap_err(), "the engine has no tensor y");
        assert!(ordered(&io, TensorIOMode::Output, &[]).is_err());
    }
}
