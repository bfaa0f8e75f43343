//! From a network to a plan.

use std::{fmt, str::FromStr};

use nvinfer::{
    Builder, BuilderConfig, BuilderFlag, ComputeCapability, DataType, Error, LayerType, NetworkDefinition,
    ProfilingVerbosity, Result, TacticSource,
};
use twinfer_case::Task;

use super::{builds_without_gpu, profile};

/// A builder optimisation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(u8);

impl Level {
    /// The level on which the first tactic that fits is taken, and none is timed.
    pub const fn is_lowest(self) -> bool {
        self.0 == 0
    }
}

/// The option `level`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelOption(pub Option<Level>);

impl fmt::Display for LevelOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Level(level)) => write!(f, "{level}"),
            None => f.write_str("default"),
        }
    }
}

/// A text that is no level.
#[derive(Debug)]
pub struct NoLevel;

impl FromStr for LevelOption {
    type Err = NoLevel;

    fn from_str(text: &str) -> std::result::Result<Self, NoLevel> {
        match text.parse() {
            Ok(level @ 0..=5) => Ok(Self(Some(Level(level)))),
            _ if text == "default" => Ok(Self(None)),
            _ => Err(NoLevel),
        }
    }
}

/// Why there is no plan.
#[derive(Debug)]
pub enum PlanError {
    /// The inputs of the runs do not fit the network's.
    Inputs(String),
    /// The library refused.
    Library(Error),
}

impl From<Error> for PlanError {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

/// The builder optimisation level that `option` comes to: the release's default where it says nothing, and `none` for a
/// release that has no levels.
pub fn level_in_force(builder: &Builder, option: LevelOption) -> Result<String> {
    if option.0.is_some() {
        return Ok(option.to_string());
    }
    match builder.create_config()?.builder_optimization_level() {
        Ok(level) => Ok(level.to_string()),
        Err(Error::Unsupported(_)) => Ok("none".to_owned()),
        Err(error) => Err(error),
    }
}

/// Builds a plan that takes every run of `task`.
pub fn build(
    builder: &Builder,
    network: &NetworkDefinition<'_>,
    task: &Task,
    level: Option<Level>,
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
        config.set_tactic_sources(&[TacticSource::EdgeMaskConvolutions, TacticSource::JitConvolutions])?;
        allow_precisions(&config, network, task.request.precision)?;
    }
    if let Some(Level(level)) = level {
        config.set_builder_optimization_level(level)?;
    }
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
    let mut is_quantised = false;
    for layer in &layers {
        is_quantised |= matches!(layer.layer_type(), Ok(LayerType::Quantize | LayerType::Dequantize));
    }
    // a network that is fed integers names its precision inside alone
    let mut is_half = requested == twinfer_onnx::DataType::Float16;
    for input in network.inputs()? {
        is_half |= input.data_type()? == DataType::Half;
    }
    for (needed, flag) in [(is_half, BuilderFlag::Fp16), (is_quantised, BuilderFlag::Int8)] {
        if needed {
            match config.set_flag(flag, true) {
                Ok(()) | Err(Error::Unsupported(_)) => {}
                Err(other) => return Err(other),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_digit_up_to_five_or_the_default() {
        assert_eq!("0".parse::<LevelOption>().unwrap(), LevelOption(Some(Level(0))));
        assert_eq!("5".parse::<LevelOption>().unwrap(), LevelOption(Some(Level(5))));
        assert_eq!("default".parse::<LevelOption>().unwrap(), LevelOption(None));
        assert!("6".parse::<LevelOption>().is_err() && "".parse::<LevelOption>().is_err());
    }
}
