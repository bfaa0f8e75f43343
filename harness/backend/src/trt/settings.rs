//! What a variant chooses of a build.

use nvinfer::{Builder, BuilderConfig, BuilderFlag, Error, NetworkDefinition, Result, Version};
use twinfer_case::{Algorithms, Arithmetic, FloatPrecision, Operands, Singles, Task};
use twinfer_onnx::DataType;

use super::{effort::Effort, layers, plan_error::PlanError, profile, timings::Timings};
use crate::options::{
    CONSTRAINTS, Choice as _, Constraints, InvalidOption, LAYERS, LayerPrecision, Optimum, OptionType as _,
    PRECISION, PROFILE, PlanRuntime, Precision, REFIT, RUNTIME, Refit, TIMING, Timing, VERSION_COMPATIBLE,
    VariantOptions, VersionCompatible,
};

/// The options of a variant that concern builds.
#[derive(Clone, Debug)]
pub struct Settings {
    pub effort: Effort,
    precision: Precision,
    constraints: Constraints,
    layers: LayerPrecision,
    optimum: Optimum,
    refit: Refit,
    timing: Timing,
    version_compatible: VersionCompatible,
    runtime: PlanRuntime,
}

impl Settings {
    pub fn take(options: &mut VariantOptions) -> std::result::Result<Self, InvalidOption> {
        let settings = Self {
            effort: Effort::take(options)?,
            precision: options.take(&PRECISION)?,
            constraints: options.take(&CONSTRAINTS)?,
            layers: options.take(&LAYERS)?,
            optimum: options.take(&PROFILE)?,
            refit: options.take(&REFIT)?,
            timing: options.take(&TIMING)?,
            version_compatible: options.take(&VERSION_COMPATIBLE)?,
            runtime: options.take(&RUNTIME)?,
        };
        if settings.has_lean_runtime() && !settings.is_version_compatible() {
            let (key, value) = (RUNTIME.key.key(), settings.runtime.written());
            return Err(InvalidOption::Needs { key, value, other: "vc=on" });
        }
        Ok(settings)
    }

    /// Whether other releases can run the engines. They contain code for the host, which a runtime has to allow.
    pub fn is_version_compatible(&self) -> bool {
        self.version_compatible == VersionCompatible::On
    }

    /// Whether a lean runtime runs the engines, which contain the lean runtime of the release that builds them.
    pub const fn has_lean_runtime(&self) -> bool {
        matches!(self.runtime, PlanRuntime::Lean(_))
    }

    /// An error if a setting needs a GPU: TensorRT-RTX 1.7 builds everything else without one, and fails to compile a refittable engine.
    pub fn check_without_gpu(&self, version: Version) -> std::result::Result<(), InvalidOption> {
        if self.refit == Refit::Off {
            return Ok(());
        }
        let (key, value) = (REFIT.key.key(), self.refit.word().to_owned());
        Err(InvalidOption::NeedsGpu { key, value, version })
    }

    /// Configures the build of `network`. Releases whose networks are strongly typed compute what the network says.
    pub fn apply(
        &self,
        builder: &Builder,
        config: &BuilderConfig<'_>,
        network: &NetworkDefinition<'_>,
        task: &Task,
        timings: &Timings,
    ) -> std::result::Result<(), PlanError> {
        let allows_tf32 = match self.precision {
            Precision::Graph => task.request.tf32,
            precision => matches!(precision, Precision::Tf32 | Precision::Best),
        };
        config.set_flag(BuilderFlag::Tf32, allows_tf32)?;
        for (flag, is_on) in self.flags() {
            if is_on {
                config.set_flag(flag, true)?;
            }
        }
        if self.has_bfloat16(builder.library().version()) {
            config.set_flag(BuilderFlag::Bf16, true)?;
        }
        self.effort.apply(builder, config)?;
        layers::ask(network, self.layers)?;
        timings.share(config, self.timing)?;
        profile::add(builder, config, network, task, self.optimum)
    }

    fn flags(&self) -> [(BuilderFlag, bool); 7] {
        [
            (BuilderFlag::Fp16, self.has_half()),
            (BuilderFlag::PreferPrecisionConstraints, self.constraints == Constraints::Prefer),
            (BuilderFlag::ObeyPrecisionConstraints, self.constraints == Constraints::Obey),
            (BuilderFlag::Refit, self.refit == Refit::On),
            (BuilderFlag::DisableTimingCache, self.timing == Timing::Off),
            (BuilderFlag::VersionCompatible, self.is_version_compatible()),
            // what builds an engine does not need the library that would be copied into it, and packages of TensorRT do not have it
            (BuilderFlag::ExcludeLeanRuntime, self.is_version_compatible() && !self.has_lean_runtime()),
        ]
    }

    /// Allows the precisions that the network itself names.
    pub fn allow_precisions(
        config: &BuilderConfig<'_>,
        network: &NetworkDefinition<'_>,
        requested: DataType,
    ) -> Result<()> {
        // a network that is fed integers names its precision inside alone
        let mut is_half = requested == DataType::Float16;
        for input in network.inputs()? {
            is_half |= input.data_type()? == nvinfer::DataType::Half;
        }
        for (needed, flag) in
            [(is_half, BuilderFlag::Fp16), (layers::are_quantized(network)?, BuilderFlag::Int8)]
        {
            if needed {
                match config.set_flag(flag, true) {
                    Ok(()) | Err(Error::Unsupported(_)) => {}
                    Err(other) => return Err(other),
                }
            }
        }
        Ok(())
    }

    /// What the arithmetic of engines may do. Their tactics include Winograd's algorithm.
    pub fn arithmetic(&self, version: Version) -> Arithmetic {
        let operands = match self.precision {
            Precision::Graph => Operands::Tf32IfAsked,
            Precision::Tf32 | Precision::Best => Operands::Tf32,
            Precision::Fp32 | Precision::Fp16 | Precision::Bf16 | Precision::Int8 => Operands::Exact,
        };
        let half = if self.has_half() { Singles::Half } else { Singles::Single };
        let bfloat16 = if self.has_bfloat16(version) { Singles::Bfloat16 } else { Singles::Single };
        Arithmetic { operands, singles: half.or(bfloat16), ..Arithmetic::default() }.with(Algorithms::Any)
    }

    /// What layers may compute 32-bit floats in, and what they have to.
    pub fn float_precision(&self, version: Version) -> FloatPrecision {
        let narrow = [(self.has_half(), DataType::Float16), (self.has_bfloat16(version), DataType::Bfloat16)];
        let required = match self.layers {
            LayerPrecision::Fp32 => Some(DataType::Float),
            LayerPrecision::Fp16 => Some(DataType::Float16),
            LayerPrecision::Free | LayerPrecision::Alternate => None,
        };
        FloatPrecision {
            allowed: narrow
                .into_iter()
                .filter_map(|(is_allowed, dtype)| is_allowed.then_some(dtype))
                .collect(),
            required: required.filter(|_| self.constraints == Constraints::Obey),
        }
    }

    const fn has_half(&self) -> bool {
        self.precision.allows_half() || self.layers.has_half()
    }

    fn has_bfloat16(&self, version: Version) -> bool {
        self.precision.allows_bfloat16() && BuilderFlag::Bf16.value(version).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variant: &str) -> Settings {
        Settings::take(&mut VariantOptions::of(&variant.parse().unwrap())).unwrap()
    }

    fn version(number: u32) -> Version {
        Version::from_number(number).unwrap()
    }

    #[test]
    fn arithmetic_follows_what_is_asked_for() {
        let arithmetic = |variant: &str| {
            let arithmetic = settings(variant).arithmetic(version(8600));
            (arithmetic.operands, arithmetic.singles)
        };
        assert_eq!(arithmetic("trt"), (Operands::Tf32IfAsked, Singles::Single));
        assert_eq!(arithmetic("trt,precision=fp32"), (Operands::Exact, Singles::Single));
        assert_eq!(arithmetic("trt,precision=tf32"), (Operands::Tf32, Singles::Single));
        assert_eq!(arithmetic("trt,precision=fp16"), (Operands::Exact, Singles::Half));
        assert_eq!(arithmetic("trt,precision=int8"), (Operands::Exact, Singles::Single));
        assert_eq!(arithmetic("trt,precision=best"), (Operands::Tf32, Singles::Half));
        assert_eq!(arithmetic("trt,layers=alternate"), (Operands::Tf32IfAsked, Singles::Half));
    }

    #[test]
    fn best_includes_bfloat16_where_the_release_has_it() {
        let singles = |number| settings("trt,precision=best").arithmetic(version(number)).singles;
        assert_eq!(singles(8600), Singles::Half);
        assert_eq!(singles(100_000), Singles::Either);
    }

    #[test]
    fn lean_runtime_is_copied_only_into_engines_that_one_runs() {
        let flags = |variant: &str| {
            let is_on = |(flag, is_on): (BuilderFlag, bool)| is_on.then_some(flag);
            settings(variant).flags().into_iter().filter_map(is_on).collect::<Vec<_>>()
        };
        assert_eq!(flags("trt"), []);
        assert_eq!(flags("trt,vc=on"), [BuilderFlag::VersionCompatible, BuilderFlag::ExcludeLeanRuntime]);
        assert_eq!(flags("trt,runtime=lean-10.16,vc=on"), [BuilderFlag::VersionCompatible]);
    }

    #[test]
    fn lean_runtime_needs_version_compatible_engines() {
        let variant = "trt,runtime=lean-10.16".parse().unwrap();
        let error = Settings::take(&mut VariantOptions::of(&variant)).unwrap_err();
        assert_eq!(error.to_string(), "option runtime=lean-10.16 needs vc=on");
    }

    #[test]
    fn only_obeyed_constraints_are_required() {
        let required = |variant: &str| settings(variant).float_precision(version(8600)).required;
        assert_eq!(required("trt,layers=fp16,constraints=obey"), Some(DataType::Float16));
        assert_eq!(required("trt,layers=fp32,constraints=obey,precision=fp16"), Some(DataType::Float));
        assert_eq!(required("trt,layers=fp16,constraints=prefer"), None);
        assert_eq!(required("trt,layers=alternate,constraints=obey"), None);
    }
}
