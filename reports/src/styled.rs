use std::{fmt::Display, ops::Add};

use console::Style;
use twinfer_case::printable_line;

/// A line, or a part of one, for a terminal. It holds no control characters but those of its styles, whatever the text is.
///
/// ```
/// use twinfer_reports::Styled;
///
/// let line = Styled::plain("node\u{1b}[2J") + " is " + Styled::bold("wrong");
/// assert!(line.as_str().starts_with(r"node\u{1b}[2J is "));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Styled(String);

impl Styled {
    /// Text in `style`, which applies if the terminal shows styles.
    pub fn new(text: impl Display, style: &Style) -> Self {
        Self(style.apply_to(printable_line(&text.to_string())).to_string())
    }

    /// Text without a style.
    pub fn plain(text: impl Display) -> Self {
        Self(printable_line(&text.to_string()).into_owned())
    }

    /// The text with its styles, to write to a terminal. There is no `Display`, so that it is not taken for plain text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Text that stands out.
    pub fn bold(text: impl Display) -> Self {
        Self::new(text, &Style::new().bold())
    }

    /// Text that stands back.
    pub fn dim(text: impl Display) -> Self {
        Self::new(text, &Style::new().dim())
    }

    /// Text that reports a failure.
    pub fn bad(text: impl Display) -> Self {
        Self::new(text, &Style::new().red().bold())
    }

    /// Text that reports success.
    pub fn good(text: impl Display) -> Self {
        Self::new(text, &Style::new().green())
    }
}

/// Appends a part.
impl Add for Styled {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self.0 += &other.0;
        self
    }
}

/// Appends plain text.
impl Add<&str> for Styled {
    type Output = Self;

    fn add(self, text: &str) -> Self {
        self + Self::plain(text)
    }
}

/// The lines, each with a line break; of several blank lines in a row one is left, and none at the end.
pub(crate) fn joined(lines: &[Styled]) -> String {
    let mut lines: Vec<_> = lines.iter().map(Styled::as_str).collect();
    lines.dedup_by(|one, other| one.is_empty() && other.is_empty());
    lines.pop_if(|last| last.is_empty());
    lines.into_iter().flat_map(|line| [line, "\n"]).collect()
}
