//! Text styles of the command line; none apply if the output is not a terminal or `NO_COLOR` is set.

use std::fmt::Display;

use console::style;

pub fn error(text: impl Display) -> impl Display {
    style(text).for_stderr().red().bold()
}

pub fn step(text: impl Display) -> impl Display {
    style(text).for_stderr().dim()
}

pub fn good(text: impl Display) -> impl Display {
    style(text).green()
}

pub fn bad(text: impl Display) -> impl Display {
    style(text).red().bold()
}

pub fn faint(text: impl Display) -> impl Display {
    style(text).dim()
}

pub fn heading(text: impl Display) -> impl Display {
    style(text).bold()
}
