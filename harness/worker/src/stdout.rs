use std::{fs::File, io};

use rustix::{io::fcntl_dupfd_cloexec, stdio};

/// The lowest number for the duplicate: past stdin, stdout and stderr.
const FIRST_FREE: i32 = 3;

/// The process's standard output, taken away from everyone else: what a library prints from now on goes to stderr.
pub fn take() -> io::Result<File> {
    let output = fcntl_dupfd_cloexec(stdio::stdout(), FIRST_FREE)?;
    stdio::dup2_stdout(stdio::stderr())?;
    Ok(File::from(output))
}
