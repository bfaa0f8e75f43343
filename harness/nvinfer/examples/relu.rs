//! Builds a network of one layer and runs it: `cargo run --example relu -- FOLDER_WITH_TENSORRT`.
#![expect(unsafe_code, reason = "the addresses and the stream come from outside")]

use cudarc::driver::{CudaContext, DevicePtr, DevicePtrMut};
use nvinfer::{ActivationType, DataType, Library, Typing};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: relu FOLDER_WITH_TENSORRT")?;
    let library = Library::load(folder)?;
    println!("{library:?}");
    library.set_log_sink(Some(std::sync::Arc::new(|message| {
        if message.severity <= nvinfer::Severity::Warning {
            eprintln!("{:?}: {}", message.severity, message.text);
        }
    })));

    let builder = library.create_builder()?;
    let network = builder.create_network(Typing::Weak)?;
    let x = network.add_input("x", DataType::Float, &[1, 4])?;
    let y = network.add_activation(x, ActivationType::Relu)?.output(0)?;
    y.set_name("y")?;
    network.mark_output(y)?;
    let plan = builder.build_serialized_network(&network, &builder.create_config()?)?;
    println!("the plan has {} bytes", plan.len());

    // SAFETY: looking for the CUDA driver has no preconditions.
    if !unsafe { cudarc::driver::sys::is_culib_present() } {
        println!("there is no CUDA driver to run it with");
        return Ok(());
    }
    let cuda = CudaContext::new(0)?;
    let stream = cuda.new_stream()?;
    let input = stream.clone_htod(&[-2.0_f32, -1.0, 1.0, 2.0])?;
    let mut output = stream.alloc_zeros::<f32>(4)?;

    let runtime = library.create_runtime()?;
    let engine = runtime.deserialize(&plan)?;
    let context = engine.create_execution_context()?;
    // SAFETY: both buffers hold four floats on the device and outlive the run, which is waited for.
    unsafe {
        context.set_tensor_address("x", input.device_ptr(&stream).0 as *mut _)?;
        context.set_tensor_address("y", output.device_ptr_mut(&stream).0 as *mut _)?;
        context.enqueue(stream.cu_stream().cast())?;
    }
    stream.synchronize()?;
    println!("relu of -2, -1, 1, 2 is {:?}", stream.clone_dtoh(&output)?);
    Ok(())
}
