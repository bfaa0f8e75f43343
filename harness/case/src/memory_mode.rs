//! What workers do with a backend's CUDA memory: the option `memory` of a variant.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{OptionKey, Variant};

/// What a worker changes between a backend and the CUDA driver, by the word of a variant's option `memory`:
/// `trt,memory=off`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum MemoryMode {
    /// Nothing: the backend's libraries are left untouched.
    Off,
    /// Repeated requests for device attributes are answered from memory. The mode of a variant that names none.
    #[default]
    Attributes,
    /// As [`Attributes`](Self::Attributes), and memory that the backend frees is kept, set to zero, and handed out again, and
    /// events are polled. Fast, and hides misuse of memory.
    Keep,
    /// As [`Attributes`](Self::Attributes), and memory holds a pattern before the backend writes to it and after the backend has
    /// freed it, and guard bytes stand behind each block. Slow, and shows misuse of memory.
    Poison(PoisonPattern),
}

/// What [`MemoryMode::Poison`] fills memory with: the same two bytes, again and again.
///
/// A case runs with both, because each hides what the other shows: a maximum may drop a NaN, and a check for NaN does not notice
/// a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PoisonPattern {
    /// A NaN in every floating-point type, FP8 included, other than the one that [output buffers](crate::OutputFilling) are filled with.
    Nan,
    /// A large finite number in every floating-point type, and 123 in an 8-bit integer.
    Large,
}

impl PoisonPattern {
    /// Both patterns.
    pub const ALL: [Self; 2] = [Self::Nan, Self::Large];

    /// The repeated bytes.
    pub const fn bytes(self) -> [u8; 2] {
        match self {
            Self::Nan => [0xff, 0x7f],
            Self::Large => [0x7b, 0x7b],
        }
    }

    /// The other pattern.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Nan => Self::Large,
            Self::Large => Self::Nan,
        }
    }
}

/// The error of a word that names no [`MemoryMode`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown memory mode {0:?}: use one of {words}", words = MemoryMode::words())]
pub struct UnknownMemoryMode(String);

impl MemoryMode {
    /// All modes, in the order in which messages list them.
    pub const ALL: [Self; 5] = [
        Self::Off,
        Self::Attributes,
        Self::Keep,
        Self::Poison(PoisonPattern::Nan),
        Self::Poison(PoisonPattern::Large),
    ];

    /// The mode's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Attributes => "attributes",
            Self::Keep => "keep",
            Self::Poison(PoisonPattern::Nan) => "poison-nan",
            Self::Poison(PoisonPattern::Large) => "poison-large",
        }
    }

    /// All words, separated by commas.
    pub fn words() -> String {
        Self::ALL.map(Self::word).join(", ")
    }
}

impl Variant {
    /// What workers of the variant do with its CUDA memory; `None` if its backend loads no CUDA runtime, or if the variant
    /// names no mode that exists, which the worker reports.
    pub fn memory(&self) -> Option<MemoryMode> {
        if !self.backend.loads_cuda_runtime() {
            return None;
        }
        self.options
            .get(OptionKey::Memory.key())
            .map_or(Some(MemoryMode::default()), |word| word.parse().ok())
    }

    /// Whether workers of the variant fill its CUDA memory with a pattern.
    pub fn is_poisoned(&self) -> bool {
        matches!(self.memory(), Some(MemoryMode::Poison(_)))
    }

    /// This variant with `mode` in place of its own; unchanged if its backend loads no CUDA runtime.
    #[must_use]
    pub fn with_memory(&self, mode: MemoryMode) -> Self {
        let mut variant = self.clone();
        if self.backend.loads_cuda_runtime() {
            variant.options.insert(OptionKey::Memory.key().to_owned(), mode.to_string());
        }
        variant
    }

    /// The pattern with which this variant's memory is filled, if it differs from `base` in nothing but that.
    pub fn poison_of(&self, base: &Self) -> Option<PoisonPattern> {
        match self.memory() {
            Some(MemoryMode::Poison(pattern)) if self != base && self.is_same_but_for_memory(base) => {
                Some(pattern)
            }
            _ => None,
        }
    }

    /// Whether two variants differ at most in what workers do with their CUDA memory.
    #[must_use]
    pub fn is_same_but_for_memory(&self, other: &Self) -> bool {
        let others = |variant: &Self| {
            let mut options = variant.options.clone();
            options.remove(OptionKey::Memory.key());
            options
        };
        self.backend == other.backend && others(self) == others(other)
    }
}

impl fmt::Display for MemoryMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for MemoryMode {
    type Err = UnknownMemoryMode;

    fn from_str(word: &str) -> Result<Self, UnknownMemoryMode> {
        let found = Self::ALL.into_iter().find(|mode| mode.word() == word);
        found.ok_or_else(|| UnknownMemoryMode(word.to_owned()))
    }
}

impl From<MemoryMode> for String {
    fn from(mode: MemoryMode) -> Self {
        mode.to_string()
    }
}

impl TryFrom<String> for MemoryMode {
    type Error = UnknownMemoryMode;

    fn try_from(word: String) -> Result<Self, UnknownMemoryMode> {
        word.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(text: &str) -> Variant {
        text.parse().expect("a variant")
    }

    #[test]
    fn variant_without_the_option_has_the_default_mode() {
        assert_eq!(variant("trt,level=0").memory(), Some(MemoryMode::Attributes));
        assert_eq!(variant("ort:cuda,memory=off").memory(), Some(MemoryMode::Off));
        assert_eq!(variant("trt,memory=sometimes").memory(), None);
        assert_eq!(variant("ort:cpu").memory(), None);
    }

    #[test]
    fn variants_with_other_memory_are_otherwise_the_same() {
        let same = |one, other| variant(one).is_same_but_for_memory(&variant(other));
        assert!(same("trt,level=0", "trt,level=0,memory=keep"));
        assert!(!same("trt,level=1", "trt,level=0,memory=keep"));
        assert!(!same("trt", "trt-api"));
    }

    #[test]
    fn poisoned_variant_differs_from_its_base_in_memory_alone() {
        let pattern = |one: &str, base| variant(one).poison_of(&variant(base));
        assert_eq!(pattern("trt,memory=poison-nan", "trt,memory=keep"), Some(PoisonPattern::Nan));
        assert_eq!(pattern("trt,level=1,memory=poison-nan", "trt,memory=keep"), None);
        assert_eq!(pattern("trt,level=1,memory=poison-nan", "trt,level=1,memory=poison-nan"), None);
        assert_eq!(pattern("trt,memory=off", "trt,memory=keep"), None);
    }

    #[test]
    fn patterns_are_nan_and_large_in_every_float_type() {
        let words = |pattern: PoisonPattern| {
            let [low, high] = pattern.bytes();
            (u16::from_le_bytes([low, high]), u32::from_le_bytes([low, high, low, high]))
        };
        let (half_word, word) = words(PoisonPattern::Nan);
        assert!(half::f16::from_bits(half_word).is_nan() && half::bf16::from_bits(half_word).is_nan());
        assert!(
            f32::from_bits(word).is_nan() && f64::from_bits(u64::from(word) << 32 | u64::from(word)).is_nan()
        );
        let (half_word, word) = words(PoisonPattern::Large);
        assert!(half::f16::from_bits(half_word).to_f32() > 6e4);
        for number in [half::bf16::from_bits(half_word).to_f32(), f32::from_bits(word)] {
            assert!(number.is_finite() && number > 1e36, "{number}");
        }
    }

    #[test]
    fn every_mode_is_read_by_its_word() {
        for mode in MemoryMode::ALL {
            assert_eq!(mode.word().parse(), Ok(mode));
        }
    }
}
