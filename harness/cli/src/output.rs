//! Writes to standard output, which may be closed before everything is written.

use std::{
    fmt::Arguments,
    io::{self, Write},
    process::exit,
};

use crate::Exit;

/// As `println!`, but the process ends without a message if standard output is closed.
macro_rules! line {
    ($($argument:tt)*) => {
        $crate::output::write(format_args!("{}\n", format_args!($($argument)*)))
    };
}
pub(crate) use line;

/// Writes to standard output; ends the process if standard output is closed, as when piped into `head`.
pub fn write(text: Arguments<'_>) {
    let mut stdout = io::stdout().lock();
    if stdout.write_fmt(text).and_then(|()| stdout.flush()).is_err() {
        exit(Exit::Environment.code().into());
    }
}
