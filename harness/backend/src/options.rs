//! The options of variants: their types, the table of them, and the parser that reads a variant by it.

mod option_type;
mod sample;
mod table;
mod values;

use std::{collections::BTreeMap, path::PathBuf};

use nvinfer::{Availability, Version};
use twinfer_case::{BackendName, MemoryMode, Variant};

use self::table::{LIBRARY, MEMORY, PLUGIN, VERSION, words};
pub use self::{
    option_type::{Choice, OptionType},
    sample::{DRAWN, sample_options},
    table::{
        ALGORITHM, BackendOption, CONSTRAINTS, DEVICE, HAZARDS, LAYERS, LEVEL, ListedOption, ListedValue,
        OPTIMIZATION, PRECISION, PROFILE, REFIT, RUNTIME, SOURCES, TIMING, VERSION_COMPATIBLE, options_of,
    },
    values::{
        Constraints, Hazards, LayerPrecision, Level, Optimization, Optimum, PlanRuntime, Precision, Refit,
        Search, Sources, Timing, VersionCompatible,
    },
};

/// The error of an option that a backend does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOption {
    /// The backend has the option, and does not take this value.
    #[error("option {key}={value}: use one of {words}")]
    Value {
        /// The option.
        key: &'static str,
        /// The value that was given.
        value: String,
        /// The values that the option takes.
        words: String,
    },
    /// The loaded release does not have what the value needs.
    #[error("option {key}={value} is not in {version}; it is in {releases}")]
    Release {
        /// The option.
        key: &'static str,
        /// The value that was given.
        value: String,
        /// The loaded release.
        version: Version,
        /// The releases of the same product that take the value.
        releases: Availability,
    },
    /// The value has no meaning without that of another option.
    #[error("option {key}={value} needs {other}")]
    Needs {
        /// The option.
        key: &'static str,
        /// The value that was given.
        value: String,
        /// The other option with its value.
        other: &'static str,
    },
    /// The value needs a GPU, and there is none.
    #[error("option {key}={value} needs a GPU that {version} runs on, and this machine has none")]
    NeedsGpu {
        /// The option.
        key: &'static str,
        /// The value that was given.
        value: String,
        /// The loaded release.
        version: Version,
    },
    /// The backend does not have the option.
    #[error("{backend} has no option {key:?}: {}", alternatives(backend))]
    Unknown {
        /// The backend.
        backend: BackendName,
        /// The option.
        key: String,
    },
}

/// The options that a backend has, for the error of one that it does not have.
fn alternatives(backend: &BackendName) -> String {
    let keys: Vec<_> = options_of(backend).iter().map(|option| option.key.key()).collect();
    if keys.is_empty() { "it has none".to_owned() } else { format!("use one of {}", keys.join(", ")) }
}

/// The options of a variant, taken out one by one so that unknown ones are found.
pub struct VariantOptions {
    backend: BackendName,
    rest: BTreeMap<String, String>,
    resolved: ResolvedOptions,
}

/// The options that a variant was opened with.
#[derive(Clone, Debug, Default)]
pub struct ResolvedOptions {
    /// The values in force by key, defaults included.
    pub values: BTreeMap<String, String>,
    limited: Vec<Limited>,
}

/// An option whose value not every release takes.
#[derive(Clone, Debug)]
struct Limited {
    key: &'static str,
    value: String,
    releases: Availability,
}

impl VariantOptions {
    pub fn of(variant: &Variant) -> Self {
        Self {
            backend: variant.backend.clone(),
            rest: variant.options.clone(),
            resolved: ResolvedOptions::default(),
        }
    }

    /// Takes an option; its default if the variant does not set it, or if the backend does not have it.
    pub fn take<T: OptionType>(&mut self, option: &BackendOption<T>) -> Result<T, InvalidOption> {
        if !option.backends.contains(&self.backend) {
            return Ok((option.default)());
        }
        let key = option.key.key();
        let value = match self.rest.remove(key) {
            Some(value) => self.limited(key, value)?,
            None => (option.default)(),
        };
        self.resolved.values.insert(key.to_owned(), value.written());
        Ok(value)
    }

    /// The value that `text` writes; remembers the releases that take it.
    fn limited<T: OptionType>(&mut self, key: &'static str, text: String) -> Result<T, InvalidOption> {
        let Some(value) = T::read(&text) else {
            return Err(InvalidOption::Value { key, value: text, words: words::<T>() });
        };
        let limited = value.releases().map(|releases| Limited { key, value: text, releases });
        self.resolved.limited.extend(limited);
        Ok(value)
    }

    /// Takes what workers do with CUDA memory.
    pub fn take_memory(&mut self) -> Result<MemoryMode, InvalidOption> {
        self.take(&MEMORY)
    }

    /// Takes the library's path. It shows in the backend's version and is not a resolved option.
    pub fn take_library(&mut self) -> PathBuf {
        self.rest.remove(LIBRARY.key.key()).unwrap_or_default().into()
    }

    /// Takes the path of the plugin. It shows in the backend's version and is not a resolved option.
    pub fn take_plugin(&mut self) -> PathBuf {
        self.rest.remove(PLUGIN.key.key()).unwrap_or_default().into()
    }

    /// Takes the library's release. It shows in the backend's version and is not a resolved option.
    pub fn take_release(&mut self) -> String {
        self.rest.remove(VERSION.key.key()).unwrap_or_default()
    }

    /// The options that were taken; an error if the variant sets one that was not taken.
    pub fn finish(self) -> Result<ResolvedOptions, InvalidOption> {
        match self.rest.into_keys().next() {
            Some(key) => Err(InvalidOption::Unknown { backend: self.backend, key }),
            None => Ok(self.resolved),
        }
    }
}

impl ResolvedOptions {
    /// An error if `version` does not take one of the values that the variant sets.
    pub fn check(&self, version: Version) -> Result<(), InvalidOption> {
        let missing = self.limited.iter().find(|limited| !limited.releases.includes(version));
        missing.map_or(Ok(()), |Limited { key, value, releases }| {
            let of_product = releases.of(version.product());
            let releases = if of_product == Availability::NOWHERE { *releases } else { of_product };
            let value = value.clone();
            Err(InvalidOption::Release { key, value, version, releases })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(variant: &str) -> VariantOptions {
        VariantOptions::of(&variant.parse().unwrap())
    }

    #[test]
    fn unknown_option_is_answered_with_those_that_exist() {
        let error = options("ort:cpu,speed=high").finish().unwrap_err().to_string();
        assert_eq!(error, r#"ort:cpu has no option "speed": use one of lib, opt, version"#);
        let error = options("golden,speed=high").finish().unwrap_err().to_string();
        assert_eq!(error, r#"golden has no option "speed": it has none"#);
    }

    #[test]
    fn option_of_another_backend_is_unknown() {
        let mut taken = options("trt-rtx,layers=fp16");
        assert_eq!(taken.take(&LAYERS).unwrap(), LayerPrecision::Free);
        assert!(taken.finish().is_err());
    }

    #[test]
    fn unknown_value_is_answered_with_those_that_exist() {
        let error = options("trt,level=6").take(&LEVEL).unwrap_err().to_string();
        assert_eq!(error, "option level=6: use one of 0 to 5, default");
    }

    #[test]
    fn value_that_a_release_lacks_is_answered_with_those_that_have_it() {
        let mut taken = options("trt,level=3");
        taken.take(&LEVEL).unwrap();
        let resolved = taken.finish().unwrap();
        let check = |number| resolved.check(Version::from_number(number).unwrap());
        assert_eq!(check(8600), Ok(()));
        assert_eq!(
            check(8503).unwrap_err().to_string(),
            "option level=3 is not in TensorRT 8.5.3; it is in TensorRT 8.6.0 to 9.2, TensorRT 10.0.0 to 10.16, \
             TensorRT 11.0.0 to 11.4"
        );
    }

    #[test]
    fn default_is_in_every_release() {
        let mut taken = options("trt");
        taken.take(&LEVEL).unwrap();
        taken.take(&SOURCES).unwrap();
        assert_eq!(taken.finish().unwrap().check(Version::from_number(8401).unwrap()), Ok(()));
    }
}
