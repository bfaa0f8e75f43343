use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use crate::value::Value;

/// The share of its bound that an error of one operator has at most. The bound adds up the roundings of all terms with one sign; with
/// random signs they come to a few of them.
const SHARE: f64 = 0.25;

/// Errors such as rounding makes, drawn at random.
pub struct RandomRounding(Pcg64Mcg);

impl RandomRounding {
    pub fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// A value as if it had been rounded, and exact from there on: what follows computes with the errors themselves. Its own error must be
    /// that of one operator on exact operands.
    pub fn round(&mut self, value: Value) -> Value {
        let Some(error) = &value.error else { return value };
        let mut off = |(element, error): (&f64, &f64)| {
            let share = self.0.random_range(-SHARE..=SHARE);
            if error.is_finite() { element + share * error } else { *element }
        };
        let elements = value.elements.iter().zip(error).map(&mut off).collect();
        Value { elements, error: None, grid: None, magnitude: None, ..value }
    }
}
