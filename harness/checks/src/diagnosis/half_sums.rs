//! Whether an output shows that it was summed in 16-bit floats.

use twinfer_golden::Reference;
use twinfer_onnx::{DataType, Tensor};

/// Bits of significand of a 16-bit float.
const PRECISION: u32 = 11;

/// Zero bits over all elements that rule out chance: as many as a 32-bit float has more than a 16-bit float.
const ENOUGH: u32 = f32::MANTISSA_DIGITS - PRECISION;

/// The evidence that outputs which golden does not explain were summed in 16-bit floats.
///
/// If sums end in 16-bit floats, every element of the output is a 16-bit float, though the type holds more bits. The evidence
/// is the number of zero bits that other numbers in the same places could have set: the bits below the significand of a 16-bit
/// float, down to the step of the grid on which golden's values lie, or to the last bit of the type.
#[derive(Clone, Copy, Debug, Default)]
pub struct HalfSums {
    /// Bits that are zero and could be set.
    evidence: u32,
    /// Whether an element is no 16-bit float, or the output is of a type other than `FLOAT`.
    is_refuted: bool,
}

impl HalfSums {
    /// Adds an output with elements that golden does not explain.
    pub fn add(&mut self, golden: &Reference, output: &Tensor) {
        self.is_refuted |= output.dtype() != DataType::Float;
        for given in output.to_f64() {
            match bits(given) {
                Some(bits) if bits <= PRECISION => self.evidence += possible_bits(given, golden) - PRECISION,
                Some(_) => self.is_refuted = true,
                // overflow of a 16-bit float, far below the largest 32-bit float
                None if !given.is_finite() => self.evidence += ENOUGH,
                // zero is a 16-bit float that many mutants give
                None => {}
            }
        }
    }

    /// Whether the elements are 16-bit floats, and not by chance.
    pub const fn is_conclusive(self) -> bool {
        !self.is_refuted && self.evidence >= ENOUGH
    }
}

/// Bits of significand that a number needs; `None` for zero, infinities and NaN.
const fn bits(number: f64) -> Option<u32> {
    if number == 0.0 || !number.is_finite() {
        return None;
    }
    let zeros = number.to_bits().trailing_zeros();
    Some(if zeros >= f64::MANTISSA_DIGITS { 1 } else { f64::MANTISSA_DIGITS - zeros })
}

/// Bits of significand that a 32-bit float of this magnitude could need on golden's grid; at least those of a 16-bit float.
fn possible_bits(number: f64, golden: &Reference) -> u32 {
    let on_grid = |step: f64| (number.abs() / step).log2().floor().clamp(0.0, 64.0) as u32 + 1;
    let possible = golden.step().map_or(f32::MANTISSA_DIGITS, on_grid);
    possible.clamp(PRECISION, f32::MANTISSA_DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether these elements are conclusive if golden's values are multiples of `step`, or use all bits of their type.
    fn is_conclusive(given: &[f64], step: Option<f64>) -> bool {
        let shape = vec![given.len()];
        let golden = Reference {
            dtype: DataType::Float,
            shape: shape.clone(),
            values: vec![step.unwrap_or(f64::from(0.1_f32)); given.len()],
            bound: vec![0.0; given.len()],
            grid_step: None,
            quantization_step: None,
            has_signed_zeros: false,
        };
        let output = Tensor::from_f64(DataType::Float, shape, given).expect("as many as it holds");
        let mut half_sums = HalfSums::default();
        half_sums.add(&golden, &output);
        half_sums.is_conclusive()
    }

    #[test]
    fn floats_of_eleven_bits_are_conclusive() {
        assert!(is_conclusive(&[1.5], None));
        assert!(is_conclusive(&[-1.0 - 2f64.powi(-10), 0.0], None));
        assert!(!is_conclusive(&[1.0 + 2f64.powi(-11)], None), "it has twelve bits");
        assert!(!is_conclusive(&[0.0, 0.0], None), "zeros are no evidence");
    }

    #[test]
    fn one_element_with_more_bits_refutes_all() {
        assert!(!is_conclusive(&[1.5, 1.25, f64::from(1.3_f32)], None));
    }

    #[test]
    fn infinity_is_conclusive_among_16_bit_floats() {
        assert!(is_conclusive(&[f64::INFINITY, 0.0], None));
        assert!(!is_conclusive(&[f64::INFINITY, f64::from(1.3_f32)], None));
    }

    #[test]
    fn small_numbers_on_a_grid_are_inconclusive() {
        assert!(!is_conclusive(&[3.0, 2.0, 1024.0, 2000.0], Some(1.0)));
        assert!(!is_conclusive(&[4096.0], Some(1.0)), "two bits may be zero by chance");
        assert!(is_conclusive(&[4096.0; 8], Some(1.0)));
        assert!(!is_conclusive(&[4097.0; 8], Some(1.0)));
    }
}
