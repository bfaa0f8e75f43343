//! Floating-point elements in formats that know only finite numbers: NaN and infinities are written as text.

use std::{fmt, marker::PhantomData};

use half::{bf16, f16};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Unexpected, Visitor},
};

/// A floating-point type whose every bit pattern can be written.
pub trait Number: Copy {
    fn to_f64(self) -> f64;
    /// Exact where `to_f64` made the value.
    fn from_f64(value: f64) -> Self;
    fn to_bits(self) -> u64;
    /// `None` where the type has fewer bits.
    fn from_bits(bits: u64) -> Option<Self>;
}

macro_rules! number {
    ($type:ty, $bits:ty, $to_f64:expr, $from_f64:expr) => {
        impl Number for $type {
            fn to_f64(self) -> f64 {
                $to_f64(self)
            }
            fn from_f64(value: f64) -> Self {
                $from_f64(value)
            }
            fn to_bits(self) -> u64 {
                u64::from(<$type>::to_bits(self))
            }
            fn from_bits(bits: u64) -> Option<Self> {
                <$bits>::try_from(bits).ok().map(<$type>::from_bits)
            }
        }
    };
}
number!(f32, u32, f64::from, |value| value as f32);
number!(f64, u64, |value| value, |value| value);
number!(f16, u16, f16::to_f64, f16::from_f64);
number!(bf16, u16, bf16::to_f64, bf16::from_f64);

/// A number as it is written.
struct Written<T>(T);

impl<T: Number> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_f64() {
            value if value.is_nan() => serializer.collect_str(&format_args!("nan:{:x}", self.0.to_bits())),
            f64::INFINITY => serializer.serialize_str("inf"),
            f64::NEG_INFINITY => serializer.serialize_str("-inf"),
            value => serializer.serialize_f64(value),
        }
    }
}

impl<'de, T: Number> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

struct Reader<T>(PhantomData<T>);

impl<T: Number> Visitor<'_> for Reader<T> {
    type Value = Written<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, \"inf\", \"-inf\" or \"nan:…\"")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Written<T>, E> {
        Ok(Written(T::from_f64(value)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Written<T>, E> {
        self.visit_f64(value as f64)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Written<T>, E> {
        self.visit_f64(value as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Written<T>, E> {
        let number = match text {
            "inf" => Some(T::from_f64(f64::INFINITY)),
            "-inf" => Some(T::from_f64(f64::NEG_INFINITY)),
            _ => text
                .strip_prefix("nan:")
                .and_then(|bits| T::from_bits(u64::from_str_radix(bits, 16).ok()?))
                .filter(|number| number.to_f64().is_nan()),
        };
        number.map(Written).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

pub fn serialize<T: Number, S: Serializer>(numbers: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(numbers.iter().map(|number| Written(*number)))
}

pub fn deserialize<'de, T: Number, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let written = Vec::<Written<T>>::deserialize(deserializer)?;
    Ok(written.into_iter().map(|number| number.0).collect())
}

/// An attribute that may be absent.
pub mod optional {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Written;

    #[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "the form that serde takes")]
    pub fn serialize<S: Serializer>(number: &Option<f32>, serializer: S) -> Result<S::Ok, S::Error> {
        match number {
            Some(number) if !number.is_finite() => serializer.serialize_some(&Written(*number)),
            number => number.serialize(serializer),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f32>, D::Error> {
        Ok(Option::<Written<f32>>::deserialize(deserializer)?.map(|written| written.0))
    }
}
