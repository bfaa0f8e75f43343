/// 2 to the power of `exponent`; exact for the exponents of a budget.
pub const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent as i64) as u64) << 52)
}
