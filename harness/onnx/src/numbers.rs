//! Floating-point elements in formats that know only finite numbers: NaN and infinities are written as text.

use half::{bf16, f16};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

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

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Text(String),
}

impl Written {
    fn of(number: impl Number) -> Self {
        match number.to_f64() {
            value if value.is_nan() => Self::Text(format!("nan:{:x}", number.to_bits())),
            f64::INFINITY => Self::Text("inf".to_owned()),
            f64::NEG_INFINITY => Self::Text("-inf".to_owned()),
            value => Self::Number(value),
        }
    }

    fn read<T: Number>(&self) -> Option<T> {
        match self {
            Self::Number(value) => Some(T::from_f64(*value)),
            Self::Text(text) => match text.as_str() {
                "inf" => Some(T::from_f64(f64::INFINITY)),
                "-inf" => Some(T::from_f64(f64::NEG_INFINITY)),
                _ => {
                    let bits = u64::from_str_radix(text.strip_prefix("nan:")?, 16).ok()?;
                    T::from_bits(bits).filter(|number| number.to_f64().is_nan())
                }
            },
        }
    }
}

pub fn serialize<T: Number, S: Serializer>(numbers: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(numbers.iter().map(|number| Written::of(*number)))
}

pub fn deserialize<'de, T: Number, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let written = Vec::<Written>::deserialize(deserializer)?;
    written
        .iter()
        .map(|number| {
            number.read().ok_or_else(|| D::Error::custom("not a number, \"inf\", \"-inf\" or \"nan:…\""))
        })
        .collect()
}
