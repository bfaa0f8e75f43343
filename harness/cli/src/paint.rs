//! The few styles the command uses; none of them where the output is no terminal or `NO_COLOR` is set.

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
