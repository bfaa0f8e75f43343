use std::{collections::BTreeMap, path::PathBuf, str::FromStr};

use twinfer_case::Variant;

/// An option of a variant that its backend does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOption {
    /// Its value is none of its words.
    #[error("option {key}={value}: use one of {words}")]
    Value {
        /// The option.
        key: &'static str,
        /// What was given.
        value: String,
        /// What may be given.
        words: String,
    },
    /// The backend does not have it.
    #[error("{backend} has no option {key:?}")]
    Unknown {
        /// The backend.
        backend: String,
        /// The option.
        key: String,
    },
}

/// What an option chooses from, each by a word.
pub trait Choice: Copy + PartialEq + 'static {
    /// The words with what they mean, in the order in which they are told.
    const WORDS: &'static [(&'static str, Self)];

    /// The word for it.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, choice)| *choice == self).map_or("", |(word, _)| word)
    }

    /// What `word` stands for.
    fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, choice)| *choice)
    }

    /// All words.
    fn words() -> String {
        Self::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
    }
}

/// The options of a variant, taken out one by one so that unknown ones are found.
pub struct VariantOptions {
    backend: String,
    rest: BTreeMap<String, String>,
    resolved: BTreeMap<String, String>,
}

impl VariantOptions {
    pub fn of(variant: &Variant) -> Self {
        Self {
            backend: variant.backend.to_string(),
            rest: variant.options.clone(),
            resolved: BTreeMap::new(),
        }
    }

    /// The choice that `key` names, or `default` where the variant does not say.
    pub fn choose<T: Choice>(&mut self, key: &'static str, default: T) -> Result<T, InvalidOption> {
        let choice = match self.rest.remove(key) {
            Some(value) => {
                T::named(&value).ok_or_else(|| InvalidOption::Value { key, value, words: T::words() })?
            }
            None => default,
        };
        self.resolved.insert(key.to_owned(), choice.word().to_owned());
        Ok(choice)
    }

    /// The value of `key` as `words` describe it, or `default` where the variant does not say.
    pub fn take<T: FromStr + ToString>(
        &mut self,
        key: &'static str,
        words: &'static str,
        default: T,
    ) -> Result<T, InvalidOption> {
        let value = match self.rest.remove(key) {
            Some(value) => {
                value.parse().map_err(|_| InvalidOption::Value { key, value, words: words.to_owned() })?
            }
            None => default,
        };
        self.resolved.insert(key.to_owned(), value.to_string());
        Ok(value)
    }

    /// Which library to load; what it turns out to be is the backend's version, and no option.
    pub fn take_library(&mut self) -> PathBuf {
        self.rest.remove("lib").unwrap_or_default().into()
    }

    /// Which release to load, likewise.
    pub fn take_release(&mut self) -> String {
        self.rest.remove("version").unwrap_or_default()
    }

    /// The options that were taken, with the values in force; an error if one is left that nobody asked for.
    pub fn finish(self) -> Result<BTreeMap<String, String>, InvalidOption> {
        match self.rest.into_keys().next() {
            Some(key) => Err(InvalidOption::Unknown { backend: self.backend, key }),
            None => Ok(self.resolved),
        }
    }
}
