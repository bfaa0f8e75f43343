use std::{collections::BTreeMap, str::FromStr};

use twinfer_case::Variant;

use crate::OpenError;

/// The options of a variant, taken out one by one so that unknown ones are found.
pub struct VariantOptions {
    backend: String,
    rest: BTreeMap<String, String>,
}

impl VariantOptions {
    pub fn of(variant: &Variant) -> Self {
        Self { backend: variant.backend.to_string(), rest: variant.options.clone() }
    }

    /// The value of `key` as one of the words of `T`, or `default` where the variant does not say.
    pub fn take<T: FromStr>(
        &mut self,
        key: &'static str,
        words: &'static str,
        default: T,
    ) -> Result<T, OpenError> {
        let Some(value) = self.rest.remove(key) else { return Ok(default) };
        value.parse().map_err(|_| OpenError::Option { key, value, words })
    }

    /// An error if an option is left that nobody asked for.
    pub fn finish(self) -> Result<(), OpenError> {
        match self.rest.into_keys().next() {
            Some(key) => Err(OpenError::UnknownOption { backend: self.backend, key }),
            None => Ok(()),
        }
    }
}
