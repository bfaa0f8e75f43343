use std::{collections::BTreeMap, path::PathBuf, str::FromStr};

use twinfer_case::{MemoryMode, OptionKey, PoisonPattern, Variant};

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
    /// The backend does not have the option.
    #[error("{backend} has no option {key:?}")]
    Unknown {
        /// The backend.
        backend: String,
        /// The option.
        key: String,
    },
}

/// The values of an option, each named by a word.
pub trait Choice: Copy + PartialEq + 'static {
    /// The words with their values, in the order in which messages list them.
    const WORDS: &'static [(&'static str, Self)];

    /// The word for this value.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, choice)| *choice == self).map_or("", |(word, _)| word)
    }

    /// The value that `word` names; `None` if it names none.
    fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, choice)| *choice)
    }

    /// All words, separated by commas.
    fn words() -> String {
        Self::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ")
    }
}

impl Choice for MemoryMode {
    const WORDS: &'static [(&'static str, Self)] = &[
        (Self::Off.word(), Self::Off),
        (Self::Attributes.word(), Self::Attributes),
        (Self::Keep.word(), Self::Keep),
        (Self::Poison(PoisonPattern::Nan).word(), Self::Poison(PoisonPattern::Nan)),
        (Self::Poison(PoisonPattern::Large).word(), Self::Poison(PoisonPattern::Large)),
    ];
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

    /// Takes the option; `default` if the variant does not set it.
    pub fn choose<T: Choice>(&mut self, option: OptionKey, default: T) -> Result<T, InvalidOption> {
        let key = option.key();
        let choice = match self.rest.remove(key) {
            Some(value) => {
                T::named(&value).ok_or_else(|| InvalidOption::Value { key, value, words: T::words() })?
            }
            None => default,
        };
        self.resolved.insert(key.to_owned(), choice.word().to_owned());
        Ok(choice)
    }

    /// Takes the option, whose values `words` describes; `default` if the variant does not set it.
    pub fn take<T: FromStr + ToString>(
        &mut self,
        option: OptionKey,
        words: &'static str,
        default: T,
    ) -> Result<T, InvalidOption> {
        let key = option.key();
        let value = match self.rest.remove(key) {
            Some(value) => {
                value.parse().map_err(|_| InvalidOption::Value { key, value, words: words.to_owned() })?
            }
            None => default,
        };
        self.resolved.insert(key.to_owned(), value.to_string());
        Ok(value)
    }

    /// Takes what workers do with CUDA memory.
    pub fn take_memory(&mut self) -> Result<MemoryMode, InvalidOption> {
        self.choose(OptionKey::Memory, MemoryMode::default())
    }

    /// Takes the library's path. It shows in the backend's version and is not a resolved option.
    pub fn take_library(&mut self) -> PathBuf {
        self.rest.remove(OptionKey::Library.key()).unwrap_or_default().into()
    }

    /// Takes the library's release. It shows in the backend's version and is not a resolved option.
    pub fn take_release(&mut self) -> String {
        self.rest.remove(OptionKey::Version.key()).unwrap_or_default()
    }

    /// The options that were taken, with the values in force; an error if the variant sets one that was not taken.
    pub fn finish(self) -> Result<BTreeMap<String, String>, InvalidOption> {
        match self.rest.into_keys().next() {
            Some(key) => Err(InvalidOption::Unknown { backend: self.backend, key }),
            None => Ok(self.resolved),
        }
    }
}
