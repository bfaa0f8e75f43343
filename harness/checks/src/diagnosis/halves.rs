//! Whether an output shows that it was summed in 16-bit floats.

use twinfer_golden::Reference;
use twinfer_onnx::{DataType, Tensor};

/// Bits of significand of a 16-bit float.
const PRECISION: u32 = 11;

/// Bits that have to be zero, over all elements, before chance is ruled out: one 32-bit float has as many to lose.
const ENOUGH: u32 = f32::MANTISSA_DIGITS - PRECISION;

/// What the outputs that golden does not explain have of 16-bit floats.
///
/// Sums that end in 16-bit floats give outputs of which every element is one, though their type holds more. The evidence
/// is how many bits other numbers in the same place would have: those below the significand of a 16-bit float, down to
/// the step of the grid on which golden's values lie, or to the last bit of the type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Halves {
    /// Bits that are zero and need not be.
    evidence: u32,
    /// Whether some element is no 16-bit float, or the output is of another type.
    is_refuted: bool,
}

impl Halves {
    /// Takes in an output with elements that golden does not explain.
    pub fn meet(&mut self, golden: &Reference, output: &Tensor) {
        self.is_refuted |= output.dtype() != DataType::Float;
        for given in output.to_f64() {
            match bits(given) {
                Some(bits) if bits <= PRECISION => self.evidence += possible_bits(given, golden) - PRECISION,
                Some(_) => self.is_refuted = true,
                // beyond the largest 16-bit float, and far from the largest 32-bit float
                None if !given.is_finite() => self.evidence += ENOUGH,
                // zero is a 16-bit float, and what many mutants give
                None => {}
            }
        }
    }

    /// Whether they are 16-bit floats, and not by chance.
    pub const fn tell(self) -> bool {
        !self.is_refuted && self.evidence >= ENOUGH
    }
}

/// Bits of significand that a number needs; `None` for zero and what is no number.
const fn bits(number: f64) -> Option<u32> {
    if number == 0.0 || !number.is_finite() {
        return None;
    }
    let zeros = number.to_bits().trailing_zeros();
    Some(if zeros >= f64::MANTISSA_DIGITS { 1 } else { f64::MANTISSA_DIGITS - zeros })
}

/// Bits of significand that a 32-bit float of this size could need here, those of a 16-bit float at least.
fn possible_bits(number: f64, golden: &Reference) -> u32 {
    let on_grid = |step: f64| (number.abs() / step).log2().floor().clamp(0.0, 64.0) as u32 + 1;
    let possible = golden.grid_step.map_or(f32::MANTISSA_DIGITS, on_grid);
    possible.clamp(PRECISION, f32::MANTISSA_DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether these elements tell, where golden's values lie on this grid or on none.
    fn tell(given: &[f64], grid_step: Option<f64>) -> bool {
        let shape = vec![given.len()];
        let golden = Reference {
            dtype: DataType::Float,
            shape: shape.clone(),
            values: vec![0.1; given.len()],
            bound: vec![0.0; given.len()],
            grid_step,
            quantization_step: None,
        };
        let output = Tensor::from_f64(DataType::Float, shape, given).expect("as many as it holds");
        let mut halves = Halves::default();
        halves.meet(&golden, &output);
        halves.tell()
    }

    #[test]
    fn a_float_of_eleven_bits_is_not_one_by_chance() {
        assert!(tell(&[1.5], None));
        assert!(tell(&[-1.0 - 2f64.powi(-10), 0.0], None));
        assert!(!tell(&[1.0 + 2f64.powi(-11)], None), "it has twelve bits");
        assert!(!tell(&[0.0, 0.0], None), "zeros tell nothing");
    }

    #[test]
    fn one_element_with_more_bits_refutes_all() {
        assert!(!tell(&[1.5, 1.25, f64::from(1.3_f32)], None));
    }

    #[test]
    fn infinity_comes_of_numbers_that_only_16_bit_floats_do_not_hold() {
        assert!(tell(&[f64::INFINITY, 0.0], None));
        assert!(!tell(&[f64::INFINITY, f64::from(1.3_f32)], None));
    }

    #[test]
    fn on_a_grid_small_numbers_are_16_bit_floats_by_themselves() {
        assert!(!tell(&[3.0, 2.0, 1024.0, 2000.0], Some(1.0)));
        assert!(!tell(&[4096.0], Some(1.0)), "two bits may be zero by chance");
        assert!(tell(&[4096.0; 8], Some(1.0)));
        assert!(!tell(&[4097.0; 8], Some(1.0)));
    }
}
