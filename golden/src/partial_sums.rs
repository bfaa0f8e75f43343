use twinfer_onnx::DataType;

use crate::{
    format::Format,
    rounding::{to_bfloat16, to_half, to_tf32},
};

/// Partial sums of a convolution that are rounded before they are added up; only mutants do that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PartialSums {
    pub parts: Parts,
    pub precision: Precision,
}

/// The parts of the sum of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parts {
    /// The products of each input channel.
    Channels,
    /// Each product.
    Products,
}

/// A floating-point type with fewer bits than `FLOAT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    Half,
    Bfloat16,
    Tf32,
}

impl Precision {
    pub const ALL: &[Self] = &[Self::Half, Self::Bfloat16, Self::Tf32];

    /// The numbers of the type.
    pub fn format(self) -> Format {
        match self {
            Self::Half => Format::of(DataType::Float16),
            Self::Bfloat16 => Format::of(DataType::Bfloat16),
            Self::Tf32 => Format { precision: 11, ..Format::of(DataType::Float) },
        }
    }

    pub fn round(self, x: f64) -> f64 {
        match self {
            Self::Half => to_half(x),
            Self::Bfloat16 => to_bfloat16(x),
            Self::Tf32 => to_tf32(x),
        }
    }

    /// The name in names of edits.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Half => "in-half",
            Self::Bfloat16 => "in-bfloat16",
            Self::Tf32 => "in-tf32",
        }
    }

    /// What sentences say something is rounded to.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Half => "a 16-bit float",
            Self::Bfloat16 => "bfloat16",
            Self::Tf32 => "11 bits of significand",
        }
    }
}

impl PartialSums {
    /// Every rounding of every kind of partial sum.
    pub fn all() -> impl Iterator<Item = Self> {
        let parts = [Parts::Channels, Parts::Products].into_iter();
        parts.flat_map(|parts| Precision::ALL.iter().map(move |&precision| Self { parts, precision }))
    }

    /// The name in names of edits.
    pub fn slug(self) -> String {
        let parts = match self.parts {
            Parts::Channels => "channel-sums",
            Parts::Products => "products",
        };
        format!("{parts}-{}", self.precision.slug())
    }

    /// What sentences say of it, behind the operator.
    pub fn clause(self) -> String {
        let parts = match self.parts {
            Parts::Channels => "the sum of the products of each input channel",
            Parts::Products => "each product",
        };
        format!("rounds {parts} to {}", self.precision.words())
    }
}
