//! Rounding to narrower floating-point types, to nearest and half to even.

use half::{bf16, f16};
use twinfer_onnx::DataType;

/// Rounds to a floating-point type; leaves numbers of other types as they are.
pub fn rounding_to(dtype: DataType) -> fn(f64) -> f64 {
    match dtype {
        DataType::Float => |x| f64::from(x as f32),
        DataType::Float16 => to_half,
        DataType::Bfloat16 => to_bfloat16,
        _ => |x| x,
    }
}

pub fn to_half(x: f64) -> f64 {
    f16::from_f64(x).to_f64()
}

pub fn to_bfloat16(x: f64) -> f64 {
    bf16::from_f64(x).to_f64()
}

/// A 32-bit float with 11 bits of significand.
pub fn to_tf32(x: f64) -> f64 {
    const DROPPED: u32 = 24 - 11;
    let single = x as f32;
    if !single.is_finite() {
        return f64::from(single);
    }
    let bits = single.to_bits();
    let is_odd = bits >> DROPPED & 1;
    let rounded = bits + (1 << (DROPPED - 1)) - 1 + is_odd;
    f64::from(f32::from_bits(rounded >> DROPPED << DROPPED))
}

/// A 32-bit float that was printed with seven significant decimal digits, of which nine would tell all of them apart, and read again.
pub fn to_seven_digits(x: f64) -> f64 {
    format!("{x:.6e}").parse().map_or(x, |read: f32| f64::from(read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tf32_keeps_eleven_bits_and_rounds_half_to_even() {
        for (x, rounded) in [
            (1.0 + 2f64.powi(-10), 1.0 + 2f64.powi(-10)),
            (1.0 + 2f64.powi(-11), 1.0),
            (1.0 + 3.0 * 2f64.powi(-11), 1.0 + 2f64.powi(-9)),
            (-1.0 - 2f64.powi(-11) - 2f64.powi(-20), -1.0 - 2f64.powi(-10)),
            (0.0, 0.0),
        ] {
            assert!((to_tf32(x) - rounded).abs() < f64::MIN_POSITIVE, "{x}: {}, not {rounded}", to_tf32(x));
        }
        assert!(to_tf32(f64::NAN).is_nan() && to_tf32(f64::INFINITY).is_infinite());
    }

    #[test]
    fn seven_digits_are_those_of_tensorrt() {
        // what TensorRT 8.5.3 and 8.6.0 return from a Clip at these bounds
        for (bound, returned) in [
            (1.888_655_424_118_042, 1.888_654_947_280_883_8),
            (-1.057_574_510_574_340_8, -1.057_574_987_411_499),
            (594_545_152.0, 594_545_216.0),
        ] {
            assert_eq!(to_seven_digits(bound).to_bits(), f64::to_bits(returned), "{bound}");
        }
        for kept in [0.0, -0.5, 1e30, 65504.0, f64::INFINITY] {
            assert_eq!(to_seven_digits(f64::from(kept as f32)).to_bits(), f64::from(kept as f32).to_bits());
        }
        assert!(to_seven_digits(f64::NAN).is_nan());
    }
}
