//! Text that others wrote, made fit to print.
//!
//! Names in a model, messages of a backend, and everything else that a file or a worker says may hold characters that a terminal
//! obeys, that reorder the text around them, or that no XML document may hold. They are printed as in Rust: `\u{1b}`.

use std::{borrow::Cow, fmt::Write as _};

/// The text with every character visible: lines and tabs stay as they are; other control characters, the ones that format text,
/// and those that have no meaning are escaped.
///
/// ```
/// use twinfer_case::printable;
///
/// assert_eq!(printable("conv\u{1b}[2J\u{202e}1"), r"conv\u{1b}[2J\u{202e}1");
/// assert_eq!(printable("two\nlines, naïve \u{1F600}"), "two\nlines, naïve \u{1F600}");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    replaced(
        text,
        |c| c != '\n' && c != '\t' && !is_visible(c),
        |escaped, c| escaped.extend(c.escape_debug()),
    )
}

/// JSON text as [`printable`] text: what JSON allows inside strings and is not visible is escaped as JSON does it.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    replaced(
        json,
        |c| c != '\n' && !is_visible(c),
        |escaped, c| {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // writing to a String cannot fail
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        },
    )
}

/// As [`printable`], on one line: line breaks and tabs become spaces.
pub fn printable_line(text: &str) -> Cow<'_, str> {
    let is_replaced = |c| !is_visible(c);
    replaced(text, is_replaced, |escaped, c| match c {
        '\n' | '\t' => escaped.push(' '),
        _ => escaped.extend(c.escape_debug()),
    })
}

/// As [`printable_line`], with at most [`MOST_CHARACTERS`] characters: what is beyond is left out of the middle.
pub fn printable_message(text: &str) -> String {
    let line = printable_line(text);
    let length = line.chars().count();
    if length <= MOST_CHARACTERS {
        return line.into_owned();
    }
    let part = (MOST_CHARACTERS - ELLIPSIS.len()) / 2;
    let (start, end) = (line.chars().take(part), line.chars().skip(length - part));
    start.chain(ELLIPSIS.chars()).chain(end).collect()
}

/// The most characters of a message that is printed on one line.
pub const MOST_CHARACTERS: usize = 2000;

const ELLIPSIS: &str = " ... ";

/// Whether a character is shown by itself: not a control character, a format character such as those that change the direction
/// of text, a separator of lines, a private or an unassigned character, as the standard library classifies them.
fn is_visible(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    // behind another character, so that a mark that combines with one is visible
    let mut buffer = [b'x'; 5];
    let length = c.encode_utf8(&mut buffer[1..]).len();
    std::str::from_utf8(&buffer[..=length]).is_ok_and(|pair| pair.escape_debug().count() == 2)
}

fn replaced(
    text: &str,
    is_replaced: impl Fn(char) -> bool,
    replace: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    if !text.chars().any(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_replaced(c) { replace(&mut result, c) } else { result.push(c) }
    }
    Cow::Owned(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_escapes_are_shown_and_not_obeyed() {
        assert_eq!(
            printable("\u{1b}]0;title\u{7}\r\u{9b}2J\u{7f}\0"),
            r"\u{1b}]0;title\u{7}\r\u{9b}2J\u{7f}\0"
        );
    }

    #[test]
    fn characters_that_format_text_are_shown() {
        let formatting =
            "\u{202a}\u{202e}\u{2066}\u{2069}\u{200e}\u{200b}\u{200d}\u{feff}\u{ad}\u{e0041}\u{2028}";
        for c in formatting.chars() {
            assert_eq!(printable(&c.to_string()), c.escape_unicode().to_string());
        }
    }

    #[test]
    fn characters_outside_xml_are_shown() {
        assert_eq!(printable("a\u{fffe}b\u{ffff}\u{fdd0}\u{e000}"), r"a\u{fffe}b\u{ffff}\u{fdd0}\u{e000}");
    }

    #[test]
    fn text_of_all_languages_stays_as_it_is() {
        for text in ["naïve “quotes” … → ±½", "e\u{301}", "日本語", "עברית", "\u{1F600}", "\t\n", r#"'"\"#]
        {
            assert_eq!(printable(text), text);
        }
    }

    #[test]
    fn json_stays_the_same_value() {
        let value = "a\u{9b}\u{202e}\u{e0041}\u{fffe}\u{1b}\n é\u{1F600}";
        let json = serde_json::to_string_pretty(&[value]).unwrap();
        let escaped = printable_json(&json);
        assert!(escaped.contains(r"a\u009b\u202e\udb40\udc41\ufffe\u001b\n é"), "{escaped}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&escaped).unwrap(), [value]);
    }

    #[test]
    fn line_has_no_breaks() {
        assert_eq!(printable_line("one\n\ttwo\r\n"), r"one  two\r ");
    }

    #[test]
    fn long_message_keeps_its_start_and_its_end() {
        let message = printable_message(&format!("start{}end", "é".repeat(MOST_CHARACTERS)));
        assert!(message.starts_with("starté") && message.contains(ELLIPSIS) && message.ends_with("éend"));
        assert!(message.chars().count() <= MOST_CHARACTERS);
        assert_eq!(printable_message("short"), "short");
    }
}
