//! The table of options: what the parser takes, what `twinfer backends options` lists, and what errors name.

use std::path::PathBuf;

use nvinfer::{Availability, Product};
use twinfer_case::{
    BackendName::{
        self, OrtCpu, OrtCuda, OrtOpenVino, OrtTensorRtRtx, OrtWebGpu, Rten, TorchTensorRt, Trt, TrtApi,
        TrtRtx,
    },
    MemoryMode, OptionKey,
};

use super::{
    option_type::{Form, OptionType},
    values::{
        Constraints, Hazards, IntermediateRepresentation, LayerPrecision, Level, Optimization, Optimum,
        PlanRuntime, Precision, Refit, Search, Sources, Timing, VersionCompatible,
    },
};

/// An option with the type of its values.
pub struct BackendOption<T> {
    /// Its name, and what it decides.
    pub key: OptionKey,
    /// The backends that have it.
    pub backends: &'static [BackendName],
    /// The value of variants that do not set it.
    pub default: fn() -> T,
}

/// An option of a backend, as `twinfer backends options` lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedOption {
    /// Its name, and what it decides.
    pub key: OptionKey,
    /// Its values.
    pub values: Vec<ListedValue>,
    /// The value of variants that do not set it; empty for the installed library.
    pub default: String,
}

/// A value of an option, or several of one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedValue {
    /// The value as variants are written, or what values of this form are.
    pub text: String,
    /// The releases of the backend's product that take it; `None` if all do.
    pub releases: Option<Availability>,
}

/// Declares the options, a row each.
macro_rules! options {
    ($($name:ident: $type:ty, $key:ident, [$($backend:ident),*], $default:expr;)*) => {
        $(
            pub const $name: BackendOption<$type> =
                BackendOption { key: OptionKey::$key, backends: &[$($backend),*], default: || $default };
        )*

        /// The options of a backend, in the order of their names. An external program has its own.
        pub fn options_of(backend: &BackendName) -> Vec<ListedOption> {
            [$($name.listed_for(backend)),*].into_iter().flatten().collect()
        }
    };
}

options! {
    ALGORITHM: Search, Algorithm, [OrtCuda], Search::Heuristic;
    CONSTRAINTS: Constraints, Constraints, [Trt, TrtApi], Constraints::Free;
    DEVICE: u16, Device, [OrtCuda, OrtTensorRtRtx, OrtWebGpu, Trt, TrtApi, TrtRtx], 0;
    HAZARDS: Hazards, Hazards, [OrtCuda, Trt, TrtApi], Hazards::Run;
    REPRESENTATION: IntermediateRepresentation, IntermediateRepresentation, [TorchTensorRt], IntermediateRepresentation::Dynamo;
    LAYERS: LayerPrecision, Layers, [Trt, TrtApi], LayerPrecision::Free;
    LEVEL: Level, Level, [Trt, TrtApi, TrtRtx, TorchTensorRt], Level(None);
    LIBRARY: PathBuf, Library, [OrtCpu, OrtCuda, OrtOpenVino, OrtTensorRtRtx, OrtWebGpu, Trt, TrtApi, TrtRtx, Rten], PathBuf::new();
    MEMORY: MemoryMode, Memory, [OrtCuda, Trt, TrtApi, TrtRtx], MemoryMode::default();
    OPTIMIZATION: Optimization, Optimization, [OrtCpu, OrtCuda, OrtOpenVino, OrtTensorRtRtx, OrtWebGpu], Optimization::All;
    PLUGIN: PathBuf, Plugin, [OrtOpenVino, OrtTensorRtRtx, OrtWebGpu], PathBuf::new();
    PRECISION: Precision, Precision, [Trt, TrtApi, TrtRtx], Precision::Graph;
    PROFILE: Optimum, Profile, [Trt, TrtApi, TrtRtx], Optimum::First;
    REFIT: Refit, Refit, [Trt, TrtApi, TrtRtx], Refit::Off;
    RUNTIME: PlanRuntime, Runtime, [Trt, TrtApi], PlanRuntime::Own;
    SOURCES: Sources, Sources, [Trt, TrtApi, TrtRtx], Sources::All;
    TIMING: Timing, Timing, [Trt, TrtApi, TrtRtx], Timing::Build;
    VERSION_COMPATIBLE: VersionCompatible, VersionCompatible, [Trt, TrtApi, TrtRtx], VersionCompatible::Off;
    VERSION: String, Version, [OrtCpu, OrtCuda, OrtOpenVino, OrtTensorRtRtx, OrtWebGpu, Trt, TrtApi, TrtRtx], String::new();
}

impl<T: OptionType> BackendOption<T> {
    fn listed_for(&self, backend: &BackendName) -> Option<ListedOption> {
        let has_it = self.backends.contains(backend);
        has_it.then(|| ListedOption {
            key: self.key,
            values: T::forms().into_iter().filter_map(|form| ListedValue::of(form, backend)).collect(),
            default: (self.default)().written(),
        })
    }
}

impl ListedValue {
    /// A form of values as the backend has it; `None` if no release of its product takes one.
    fn of(Form { text, releases }: Form, backend: &BackendName) -> Option<Self> {
        let product = if *backend == TrtRtx { Product::TensorRtRtx } else { Product::TensorRt };
        let some = releases.filter(|releases| !releases.is_everywhere(product));
        let releases = some.map(|releases| releases.of(product));
        (releases != Some(Availability::NOWHERE)).then_some(Self { text, releases })
    }
}

/// The values that an option takes, for an error message.
pub fn words<T: OptionType>() -> String {
    T::forms().into_iter().map(|form| form.text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_an_option_of_a_backend() {
        let listed: Vec<_> = BackendName::BUILT_IN.iter().flat_map(options_of).collect();
        for key in OptionKey::ALL {
            assert!(listed.iter().any(|option| option.key == *key), "{}", key.key());
        }
    }

    #[test]
    fn every_default_is_a_value() {
        for option in BackendName::BUILT_IN.iter().flat_map(options_of) {
            let is_word = option.values.iter().any(|value| value.text == option.default);
            let is_installed = option.default.is_empty();
            assert!(is_word || is_installed || option.key == OptionKey::Device, "{option:?}");
        }
    }

    #[test]
    fn options_are_listed_by_name() {
        for backend in BackendName::BUILT_IN {
            assert!(options_of(backend).is_sorted_by_key(|option| option.key.key()), "{backend}");
        }
    }
}
