use std::{fs::File, io};

use rustix::{io::fcntl_dupfd_cloexec, stdio};

/// The lowest file descriptor for the duplicate: above stdin, stdout and stderr.
const LOWEST: i32 = 3;

/// Returns the process's standard output and redirects file descriptor 1 to stderr, so that nothing a library prints reaches
/// the output.
pub fn take() -> io::Result<File> {
    let output = fcntl_dupfd_cloexec(stdio::stdout(), LOWEST)?;
    stdio::dup2_stdout(stdio::stderr())?;
    Ok(File::from(output))
}
