//! Elements of tensors, short enough for a table.

/// The significant digits of a value.
const DIGITS: usize = 6;

/// `value` with at most six significant digits, such as `0.333333`, `-1.5` or `1.5e-9`.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "NaN".to_owned() } else { value.to_string() };
    }
    let magnitude = value.abs();
    if value == 0.0 || (1e-4..1e7).contains(&magnitude) {
        let before = if magnitude < 1.0 { 0 } else { magnitude.log10().floor() as usize + 1 };
        let leading =
            if value != 0.0 && magnitude < 1.0 { (-magnitude.log10().floor()) as usize - 1 } else { 0 };
        let text = format!("{value:.*}", DIGITS.saturating_sub(before) + leading);
        return trimmed(&text).to_owned();
    }
    let text = format!("{value:.*e}", DIGITS - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}e{exponent}", trimmed(mantissa))
}

/// A decimal fraction without zeros at its end.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_have_six_significant_digits() {
        let texts =
            [0.0, -0.0, 1.0, -120.0, 1.0 / 3.0, 0.000_123_456_78, 123_456.78, 1.5e-9, -2.5e20, 100_000.0];
        let texts = texts.map(number);
        let expected =
            ["0", "-0", "1", "-120", "0.333333", "0.000123457", "123457", "1.5e-9", "-2.5e20", "100000"];
        assert_eq!(texts, expected);
        assert_eq!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(number), ["NaN", "inf", "-inf"]);
    }
}
