//! Durations in option values: `90s`, `30m`, `8h`.

/// Parses a number with a unit (`s`, `m`, `min` or `h`) to seconds.
pub fn seconds(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        _ => return Err("give seconds, minutes or hours: 90s, 30m, 8h".to_owned()),
    };
    let number: u64 =
        digits.parse().map_err(|_| "give a whole number with a unit: 90s, 30m, 8h".to_owned())?;
    number
        .checked_mul(unit)
        .filter(|&total| total > 0)
        .ok_or_else(|| "give a time of at least a second: 90s, 30m, 8h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn a_duration_is_a_number_with_a_unit() {
        assert_eq!((seconds("90s"), seconds("30m"), seconds("8h")), (Ok(90), Ok(1800), Ok(28_800)));
        assert!(
            ["", "8", "h", "-1s", "0s", "8d", "99999999999999999999h"]
                .map(seconds)
                .iter()
                .all(Result::is_err)
        );
    }
}
