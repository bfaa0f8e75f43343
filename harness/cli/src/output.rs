//! Writing to standard output, which may be closed before everything is written.

use std::{
    fmt::Arguments,
    io::{self, Write},
    process::exit,
};

use crate::Exit;

/// As `println!`, but where nobody reads any more the process ends quietly.
macro_rules! line {
    ($($argument:tt)*) => {
        $crate::output::write(format_args!("{}\n", format_args!($($argument)*)))
    };
}
pub(crate) use line;

/// Writes to standard output; ends the process where that is closed, as `head` does to what feeds it.
pub fn write(text: Arguments<'_>) {
    let mut stdout = io::stdout().lock();
    if stdout.write_fmt(text).and_then(|()| stdout.flush()).is_err() {
        exit(Exit::Environment.code().into());
    }
}
