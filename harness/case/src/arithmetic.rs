use serde::{Deserialize, Serialize};

use crate::Request;

/// What a backend's arithmetic may do; the less is known about it, the wider the error bounds.
///
/// The default is whatever ONNX allows: it says nothing about sums and subnormals. TF32 has to be asked for, and algorithms
/// that are not direct have to be stated. The default holds for a backend that states nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Arithmetic {
    /// How products of 16-bit floats are accumulated.
    pub sums: Sums,
    /// What becomes of 32-bit numbers near zero.
    pub subnormals: Subnormals,
    /// What becomes of the operands of a convolution in 32-bit floats.
    pub operands: Operands,
    /// What 32-bit floats may be held and computed in.
    pub singles: Singles,
    /// The algorithms that compute operators on floats.
    pub algorithms: Algorithms,
}

/// How products of 16-bit floats are accumulated, the most precise way first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sums {
    /// In 32-bit floats, rounded once at the end of each operator.
    InSingle,
    /// In the type of the operands.
    #[default]
    InOperandType,
}

/// What becomes of numbers below the smallest normal one, the most precise way first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subnormals {
    /// They are kept, as IEEE 754 demands.
    Gradual,
    /// 32-bit floats and bfloat16 may be taken for zero, as GPUs often do. Float16 underflows gradually.
    #[default]
    Flushed,
}

/// What becomes of the operands of a convolution in 32-bit floats, the most precise way first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operands {
    /// They are used as they are.
    #[default]
    Exact,
    /// They may be rounded or cut to TF32, 11 bits of significand, if the case allows TF32.
    Tf32IfAsked,
    /// They may be rounded or cut to TF32.
    Tf32,
}

/// What the 32-bit floats of a graph may be held and computed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Singles {
    /// 32 bits.
    #[default]
    Single,
    /// 32 bits or float16, each value and each operator either way.
    Half,
    /// 32 bits or bfloat16, each value and each operator either way.
    Bfloat16,
    /// 32 bits, float16 or bfloat16.
    Either,
}

/// The algorithms that compute operators on floats, the most precise first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithms {
    /// Operators are computed as ONNX states them, with sums in any order: a convolution multiplies its operands, and quotients and
    /// roots are correctly rounded. Integers that are small enough are exact.
    #[default]
    Direct,
    /// Convolutions multiply their operands too, but quotients and roots may be approximated, as GPUs do, and what becomes of operands that
    /// are not finite and of sums that overflow is as open as if convolutions transformed them.
    DirectConvolutions,
    /// Convolutions of dense kernels may be computed by Winograd's algorithm or by FFT, and quotients and roots may be
    /// approximated. All of these round even small integers.
    Any,
}

impl Singles {
    /// What either of two backends may hold and compute them in.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Single, other) | (other, Self::Single) => other,
            (one, other) if one == other => one,
            _ => Self::Either,
        }
    }
}

impl Arithmetic {
    /// Single-precision sums, gradual underflow and direct algorithms: what CPUs do.
    pub const STRICT: Self = Self {
        sums: Sums::InSingle,
        subnormals: Subnormals::Gradual,
        operands: Operands::Exact,
        singles: Singles::Single,
        algorithms: Algorithms::Direct,
    };

    /// What may happen if either of two backends computes: one reference then serves both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            sums: self.sums.max(other.sums),
            subnormals: self.subnormals.max(other.subnormals),
            operands: self.operands.max(other.operands),
            singles: self.singles.or(other.singles),
            algorithms: self.algorithms.max(other.algorithms),
        }
    }

    /// The arithmetic for a case that asks for this.
    #[must_use]
    pub fn for_request(self, request: &Request) -> Self {
        let operands = match self.operands {
            Operands::Tf32IfAsked if request.tf32 => Operands::Tf32,
            Operands::Tf32IfAsked => Operands::Exact,
            operands => operands,
        };
        Self { operands, ..self }
    }

    /// The same arithmetic with these algorithms.
    #[must_use]
    pub const fn with(self, algorithms: Algorithms) -> Self {
        Self { algorithms, ..self }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_of_two_backends_has_the_less_precise_way_of_each() {
        let tf32 = Arithmetic { operands: Operands::Tf32, ..Arithmetic::STRICT };
        assert_eq!(Arithmetic::STRICT.or(Arithmetic::default()), Arithmetic::default());
        assert_eq!(
            tf32.or(Arithmetic::default()),
            Arithmetic { operands: Operands::Tf32, ..Arithmetic::default() }
        );
        let any = Arithmetic::STRICT.with(Algorithms::Any);
        assert_eq!(any.or(Arithmetic::STRICT), any);
        assert_eq!(Arithmetic::STRICT.or(Arithmetic::STRICT), Arithmetic::STRICT);
    }

    #[test]
    fn either_of_two_backends_has_the_formats_of_both() {
        assert_eq!(Singles::Half.or(Singles::Single), Singles::Half);
        assert_eq!(Singles::Bfloat16.or(Singles::Half), Singles::Either);
        assert_eq!(Singles::Half.or(Singles::Either), Singles::Either);
    }

    #[test]
    fn tf32_follows_the_request_where_it_has_to_be_asked_for() {
        let request = |tf32| Request { precision: twinfer_onnx::DataType::Float, tf32 };
        let asked = Arithmetic { operands: Operands::Tf32IfAsked, ..Arithmetic::default() };
        assert_eq!(asked.for_request(&request(true)).operands, Operands::Tf32);
        assert_eq!(asked.for_request(&request(false)).operands, Operands::Exact);
        assert_eq!(Arithmetic::STRICT.for_request(&request(true)), Arithmetic::STRICT);
    }

    #[test]
    fn what_is_left_out_is_the_default() {
        let read = |text| serde_json::from_str::<Arithmetic>(text).unwrap();
        assert_eq!(read("{}"), Arithmetic::default());
        assert_eq!(
            read(r#"{"sums": "in-single"}"#),
            Arithmetic { sums: Sums::InSingle, ..Arithmetic::default() }
        );
    }
}
