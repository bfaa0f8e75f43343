//! From a network to a plan.

use nvinfer::{Builder, ComputeCapability, NetworkDefinition, ProfilingVerbosity};
use twinfer_case::Task;

use super::{plan_error::PlanError, product::builds_without_gpu, settings::Settings, timings::Timings};

/// Builds a plan that takes every run of `task`.
pub fn build(
    builder: &Builder,
    network: &NetworkDefinition<'_>,
    task: &Task,
    (settings, timings): (&Settings, &Timings),
    for_present_gpu: bool,
) -> Result<Vec<u8>, PlanError> {
    let config = builder.create_config()?;
    config.set_profiling_verbosity(ProfilingVerbosity::Detailed)?;
    if builds_without_gpu(builder.library()) {
        if !for_present_gpu {
            config.set_compute_capabilities(&[ComputeCapability::Sm86])?;
        }
    } else {
        Settings::allow_precisions(&config, network, task.request.precision)?;
    }
    settings.apply(builder, &config, network, task, timings)?;
    Ok(builder.build_serialized_network(network, &config)?.to_vec())
}
