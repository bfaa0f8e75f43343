//! From a network to a plan.

use nvinfer::{
    Builder, BuilderConfig, BuilderFlag, ComputeCapability, DataType, Error, LayerType, NetworkDefinition,
    ProfilingVerbosity, Result,
};
use twinfer_case::Task;

use super::{effort::Effort, plan_error::PlanError, product::builds_without_gpu, profile};

/// Builds a plan that takes every run of `task`.
pub fn build(
    builder: &Builder,
    network: &NetworkDefinition<'_>,
    task: &Task,
    effort: Effort,
    for_present_gpu: bool,
) -> std::result::Result<Vec<u8>, PlanError> {
    let config = builder.create_config()?;
    config.set_profiling_verbosity(ProfilingVerbosity::Detailed)?;
    config.set_flag(BuilderFlag::Tf32, task.request.tf32)?;
    if builds_without_gpu(builder.library()) {
        if !for_present_gpu {
            config.set_compute_capabilities(&[ComputeCapability::Sm86])?;
        }
    } else {
        allow_precisions(&config, network, task.request.precision)?;
    }
    effort.apply(builder, &config)?;
    profile::add(builder, &config, network, task)?;
    Ok(builder.build_serialized_network(network, &config)?.to_vec())
}

/// Allows the precisions that the network itself names. Releases whose networks are always strongly typed have no such
/// switches, or refuse a network that was built with one: TensorRT-RTX 1.4 does.
fn allow_precisions(
    config: &BuilderConfig<'_>,
    network: &NetworkDefinition<'_>,
    requested: twinfer_onnx::DataType,
) -> Result<()> {
    let layers = network.layers()?;
    let mut is_quantized = false;
    for layer in &layers {
        is_quantized |= matches!(layer.layer_type(), Ok(LayerType::Quantize | LayerType::Dequantize));
    }
    // a network that is fed integers names its precision inside alone
    let mut is_half = requested == twinfer_onnx::DataType::Float16;
    for input in network.inputs()? {
        is_half |= input.data_type()? == DataType::Half;
    }
    for (needed, flag) in [(is_half, BuilderFlag::Fp16), (is_quantized, BuilderFlag::Int8)] {
        if needed {
            match config.set_flag(flag, true) {
                Ok(()) | Err(Error::Unsupported(_)) => {}
                Err(other) => return Err(other),
            }
        }
    }
    Ok(())
}
