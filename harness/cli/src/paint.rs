//! Text styles of the command line; none apply if the output is not a terminal or `NO_COLOR` is set.

use std::fmt::Display;

use console::Style;
use twinfer_reports::Styled;

pub fn error(text: impl Display) -> Styled {
    Styled::new(text, &Style::new().for_stderr().red().bold())
}

pub fn step(text: impl Display) -> Styled {
    Styled::new(text, &Style::new().for_stderr().dim())
}

pub fn good(text: impl Display) -> Styled {
    Styled::good(text)
}

pub fn bad(text: impl Display) -> Styled {
    Styled::bad(text)
}

pub fn faint(text: impl Display) -> Styled {
    Styled::dim(text)
}

pub fn heading(text: impl Display) -> Styled {
    Styled::bold(text)
}
