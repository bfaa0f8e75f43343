//! Prints to standard output and standard error, always text that a terminal does not obey.

use std::{
    io::{self, ErrorKind, Write},
    process::exit,
};

use twinfer_reports::Styled;

use crate::{Exit, paint};

/// Prints a line to standard output, with the format arguments of `println!`; a styled part may stand before them:
/// `line!(paint::good("written to") => " {folder}")`.
macro_rules! line {
    ($styled:expr => $($argument:tt)*) => {
        $crate::output::print(&($styled + twinfer_reports::Styled::plain(format_args!($($argument)*))))
    };
    ($($argument:tt)*) => {
        $crate::output::print(&twinfer_reports::Styled::plain(format_args!($($argument)*)))
    };
}
pub(crate) use line;

/// Prints a line to standard error, with the format arguments of `eprintln!`, unless the command is to be quiet.
macro_rules! note {
    ($($argument:tt)*) => {
        if !$crate::terminal::is_quiet() {
            $crate::output::print_note(&twinfer_reports::Styled::plain(format_args!($($argument)*)));
        }
    };
}
pub(crate) use note;

/// Prints why the exit code is not 0 although the report names no reason to standard error, with the format arguments of `eprintln!`.
macro_rules! warning {
    ($($argument:tt)*) => {
        $crate::output::print_note(
            &($crate::paint::error("warning:")
                + twinfer_reports::Styled::plain(format_args!(" {}", format_args!($($argument)*)))),
        )
    };
}
pub(crate) use warning;

/// Prints a line to standard output.
pub fn print(line: &Styled) {
    write(&format!("{}\n", line.as_str()));
}

/// Prints a line to standard error. If that is closed or its disk is full, nobody reads notes, and the command goes on.
pub fn print_note(line: &Styled) {
    let _ = writeln!(io::stderr(), "{}", line.as_str());
}

/// Writes a rendered report to standard output. If that fails, the process ends: without a message if standard output is closed, as
/// when piped into `head`.
pub fn write(report: &str) {
    let mut stdout = io::stdout().lock();
    if let Err(error) = stdout.write_all(report.as_bytes()).and_then(|()| stdout.flush()) {
        if error.kind() != ErrorKind::BrokenPipe {
            print_note(
                &(paint::error("error:")
                    + Styled::plain(format!(" cannot write to standard output: {error}"))),
            );
        }
        exit(Exit::Environment.code().into());
    }
}
