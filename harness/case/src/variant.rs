use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{BackendName, OptionKey, backend_name::suggestion};

/// A backend with its resolved options; observations, expectations and reports are keyed by it.
///
/// Written `backend`, or `backend,key=value,…` with the keys in order: `ort:cpu,opt=off`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Variant {
    /// The backend.
    pub backend: BackendName,
    /// The options by key.
    pub options: BTreeMap<String, String>,
}

/// The error of text that is not a variant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidVariant {
    /// No backend has this name.
    #[error("unknown backend {0:?}: {suggestion}", suggestion = suggestion(.0))]
    Backend(String),
    /// An option has no value.
    #[error("invalid option {0:?}: write key=value")]
    Option(String),
    /// An option has two values.
    #[error("option {0} is given twice: keep one, or name the backend again for another variant")]
    Repeated(String),
}

impl Variant {
    /// This variant with `options` in addition to its own, which they override.
    #[must_use]
    pub fn with(&self, options: &BTreeMap<String, String>) -> Self {
        let mut variant = self.clone();
        variant.options.extend(options.clone());
        variant
    }

    /// The installed library that the variant loads, by its name in `twinfer backends list`, such as `tensorrt-8.5`;
    /// `None` if the variant names a file itself or its backend loads no library.
    pub fn library(&self) -> Option<String> {
        if self.options.contains_key(OptionKey::Library.key()) {
            return None;
        }
        let product = self.backend.library()?;
        Some(match self.options.get(OptionKey::Version.key()) {
            Some(version) => format!("{product}-{version}"),
            None => product.to_owned(),
        })
    }

    /// The execution provider that ONNX Runtime loads as a plugin, by its name in `twinfer backends list`; `None` if the variant names
    /// its file itself or its backend loads none.
    pub fn plugin(&self) -> Option<&'static str> {
        let is_given = self.options.contains_key(OptionKey::Plugin.key());
        self.backend.plugin().filter(|_| !is_given)
    }

    /// The lean runtime that runs the variant's engines, by its name in `twinfer backends list`, such as `tensorrt-lean-10.16`;
    /// `None` if what builds them runs them too.
    pub fn lean_runtime(&self) -> Option<String> {
        let product = self.backend.library().filter(|_| self.backend.builds_engines())?;
        let runtime = self.options.get(OptionKey::Runtime.key())?;
        runtime.starts_with("lean-").then(|| format!("{product}-{runtime}"))
    }

    /// How many processes a worker of the variant is: a lean runtime has one of its own.
    pub fn processes(&self) -> usize {
        1 + usize::from(self.lean_runtime().is_some())
    }

    /// Whether this variant and `other` load the same library.
    pub(crate) fn shares_library(&self, other: &Self) -> bool {
        let is_equal = |key: OptionKey| self.options.get(key.key()) == other.options.get(key.key());
        self.backend.library().is_some()
            && self.backend.library() == other.backend.library()
            && is_equal(OptionKey::Library)
            && is_equal(OptionKey::Version)
            && is_equal(OptionKey::Plugin)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.backend)?;
        self.options.iter().try_for_each(|(key, value)| write!(f, ",{key}={value}"))
    }
}

impl FromStr for BackendName {
    type Err = InvalidVariant;

    fn from_str(text: &str) -> Result<Self, InvalidVariant> {
        let external = text.strip_prefix("external:").filter(|command| !command.is_empty());
        let external = external.map(|command| Self::External(command.to_owned()));
        let named = || Self::BUILT_IN.iter().find(|backend| backend.label() == text).cloned();
        external.or_else(named).ok_or_else(|| InvalidVariant::Backend(text.to_owned()))
    }
}

impl FromStr for Variant {
    type Err = InvalidVariant;

    fn from_str(text: &str) -> Result<Self, InvalidVariant> {
        let mut parts = text.split(',');
        let backend = parts.next().unwrap_or_default().parse()?;
        let mut options = BTreeMap::new();
        for part in parts {
            let (key, value) = part.split_once('=').ok_or_else(|| InvalidVariant::Option(part.to_owned()))?;
            if options.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(InvalidVariant::Repeated(key.to_owned()));
            }
        }
        Ok(Self { backend, options })
    }
}

macro_rules! text_form {
    ($type:ty) => {
        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }
        impl TryFrom<String> for $type {
            type Error = InvalidVariant;
            fn try_from(text: String) -> Result<Self, InvalidVariant> {
                text.parse()
            }
        }
    };
}
text_form!(BackendName);
text_form!(Variant);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_has_one_value() {
        let twice = "ort:cpu,opt=off,opt=all".parse::<Variant>();
        assert_eq!(twice, Err(InvalidVariant::Repeated("opt".to_owned())));
    }

    #[test]
    fn lean_runtime_is_a_library_and_a_process_of_its_own() {
        let lean = |variant: &str| {
            let variant: Variant = variant.parse().unwrap();
            (variant.lean_runtime(), variant.processes())
        };
        let name = Some("tensorrt-lean-10.16".to_owned());
        assert_eq!(lean("trt,runtime=lean-10.16,vc=on,version=8.6"), (name, 2));
        for other in ["trt", "trt,runtime=own,vc=on", "trt-rtx,runtime=lean-10.16"] {
            assert_eq!(lean(other), (None, 1), "{other}");
        }
    }

    fn library(variant: &str) -> Option<String> {
        variant.parse::<Variant>().unwrap().library()
    }

    #[test]
    fn a_variant_loads_the_library_of_its_product_and_version() {
        assert_eq!(library("ort:cpu,opt=off").as_deref(), Some("onnxruntime"));
        assert_eq!(library("trt,version=8.5").as_deref(), Some("tensorrt-8.5"));
        assert_eq!(library("trt-rtx").as_deref(), Some("tensorrt-rtx"));
    }

    #[test]
    fn a_variant_with_a_library_of_its_own_needs_none_installed() {
        assert_eq!(library("trt,lib=/opt/tensorrt"), None);
        assert_eq!(library("external:./adapter.py"), None);
        assert_eq!(library("golden"), None);
    }
}
