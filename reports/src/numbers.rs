//! Formats numbers, counts and long texts for people.

use std::{collections::BTreeMap, fmt::Display};

use indicatif::HumanCount;
use twinfer_case::printable_line;

/// A number with separators, such as `12,304`.
pub(crate) fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

/// A number for a table cell; `-` for 0.
pub(crate) fn cell(number: u64) -> String {
    if number == 0 { "-".to_owned() } else { count(number) }
}

/// A number with its noun, such as `1 case` or `12,304 cases`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A size in megabytes or gigabytes, such as `36 MB` or `3.2 GB`.
pub(crate) fn bytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    if megabytes < 1000.0 { format!("{megabytes:.0} MB") } else { format!("{:.1} GB", megabytes / 1e3) }
}

/// Counts by key, such as `wrong-values 12 · crash 1`; a key of several words is followed by a colon.
pub(crate) fn counts<K: Display>(counts: &BTreeMap<K, u64>) -> String {
    let parts = counts.iter().map(|(key, number)| {
        let key = key.to_string();
        let colon = if key.contains(' ') { ":" } else { "" };
        format!("{key}{colon} {}", count(*number))
    });
    parts.collect::<Vec<_>>().join(" · ")
}

/// `part` as a percentage of `whole`, such as `12.5%`; `-` if `whole` is 0.
pub(crate) fn part(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1}%", 100.0 * part as f64 / whole as f64) }
}

/// Cases per second, such as `1,500 cases/s`; `less than 1 case/s` if that is so, and 0 before any time has passed.
pub(crate) fn rate(cases: u64, seconds: f64) -> String {
    let whole = if seconds > 0.0 { (cases as f64 / seconds).round() as u64 } else { 0 };
    match whole {
        0 if cases > 0 && seconds > 0.0 => "less than 1 case/s".to_owned(),
        whole => counted(whole, "case/s", "cases/s"),
    }
}

/// A duration, such as `4.2 s`, `3 min 05 s` or `2 h 07 min`.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{seconds:.1} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// `text` with a capital first letter.
#[must_use]
pub fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// `text` on one line, truncated to the width that a summary shows.
pub(crate) fn short(text: &str) -> String {
    truncated(text, WIDTH)
}

/// `text` on one line, truncated to `width` columns.
pub(crate) fn truncated(text: &str, width: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    console::truncate_str(&printable_line(&flat), width, "…").into_owned()
}

/// `text` with at most `width` characters: of a longer one, the first third and the end.
pub(crate) fn middle_left_out(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let beginning = width / 3;
    let end = width - beginning - 1;
    text.chars().take(beginning).chain(['…']).chain(text.chars().skip(length - end)).collect()
}

/// The most columns of a text in a summary.
const WIDTH: usize = 200;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{cell, counted, counts, duration, middle_left_out, part, rate};

    #[test]
    fn duration_unit_grows_with_length() {
        assert_eq!(duration(1.24), "1.2 s");
        assert_eq!(duration(61.0), "1 min 01 s");
        assert_eq!(duration(7620.0), "2 h 07 min");
    }

    #[test]
    fn counts_have_nouns_and_separators() {
        assert_eq!(counted(1, "case", "cases"), "1 case");
        assert_eq!(counted(61_200, "case", "cases"), "61,200 cases");
        assert_eq!((cell(0), cell(1234)), ("-".to_owned(), "1,234".to_owned()));
        let by_reason = BTreeMap::from([("crash", 1), ("its operator set is 999", 1200)]);
        assert_eq!(counts(&by_reason), "crash 1 · its operator set is 999: 1,200");
    }

    #[test]
    fn middle_of_a_long_name_is_left_out() {
        let command = "external:python3 /home/me/adapters/unchanged.py";
        assert_eq!(middle_left_out(command, 30), "external:p…apters/unchanged.py");
        assert_eq!(middle_left_out(command, command.len()), command);
    }

    #[test]
    fn part_is_a_percentage() {
        assert_eq!((part(1, 8), part(0, 3), part(0, 0)), ("12.5%".into(), "0.0%".into(), "-".into()));
    }

    #[test]
    fn rate_is_a_whole_number_of_cases() {
        let rates =
            [(10, 0.0), (3000, 2.0), (10, 9.0), (1, 9.0)].map(|(cases, seconds)| rate(cases, seconds));
        assert_eq!(rates, ["0 cases/s", "1,500 cases/s", "1 case/s", "less than 1 case/s"]);
    }
}
