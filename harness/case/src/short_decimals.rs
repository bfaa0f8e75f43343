//! Decimals in texts for people.

/// The most significant digits, which tell any two 32-bit floats apart.
const DIGITS: usize = 9;

/// `text` with at most nine significant digits in each decimal.
pub fn with_short_decimals(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (between, words) = rest.split_at(rest.find(is_part).unwrap_or(rest.len()));
        let (word, behind) = words.split_at(words.find(|c| !is_part(c)).unwrap_or(words.len()));
        short.push_str(between);
        short.push_str(&shortened(word).unwrap_or_else(|| word.to_owned()));
        rest = behind;
    }
    short
}

/// A decimal with fewer digits; `None` if it is short, or no decimal.
fn shortened(word: &str) -> Option<String> {
    let is_decimal = word.contains('.') && word.bytes().all(|byte| b"0123456789.e+-".contains(&byte));
    let (mantissa, exponent) =
        word.split_once('e').map_or((word, None), |(mantissa, rest)| (mantissa, Some(rest)));
    let significant =
        mantissa.trim_start_matches(['-', '+', '0', '.']).bytes().filter(u8::is_ascii_digit).count();
    if !is_decimal || significant <= DIGITS {
        return None;
    }
    let number: f64 = word.parse().ok()?;
    let rounded: f64 = format!("{number:.*e}", DIGITS - 1).parse().ok()?;
    Some(if exponent.is_some() { format!("{rounded:e}") } else { rounded.to_string() })
}

#[cfg(test)]
mod tests {
    use super::with_short_decimals;

    #[test]
    fn decimals_keep_nine_digits() {
        let text = "at [0, 1] 0.9821813106536865 instead of -0.9943070001900196 (bound 2.370612732150668e-7)";
        assert_eq!(
            with_short_decimals(text),
            "at [0, 1] 0.982181311 instead of -0.994307 (bound 2.37061273e-7)"
        );
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for text in [
            "2048 of 2048",
            "40.59375",
            "12345678901 bytes",
            "version 10.16.1.1234567890",
            "libx-1.2345678901.so",
            "é",
            "",
        ] {
            assert_eq!(with_short_decimals(text), text);
        }
    }
}
