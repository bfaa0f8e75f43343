//! Rounding to narrower floating-point types, to nearest and half to even.

use half::{bf16, f16};

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
}
