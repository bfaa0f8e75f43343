//! A twinfer worker around rten. docs/protocol.md describes the messages.
//!
//! It reads frames on stdin and writes frames to stdout until the supervisor closes the pipe. A panic of rten ends it, which the
//! supervisor reports as a crash.

mod capabilities;
mod refusal;
mod runtime;
mod tensors;
mod worker;

use std::{
    fs::File,
    io::{self, BufReader},
    panic,
    process::ExitCode,
};

use rustix::{io::fcntl_dupfd_cloexec, stdio};

/// The lowest file descriptor for the duplicate of stdout.
const ABOVE_STDERR: i32 = 3;

fn main() -> ExitCode {
    // the supervisor shows the last line
    panic::set_hook(Box::new(|panic| eprintln!("{}", panic.to_string().replace('\n', " "))));
    let served = take_stdout().map_err(worker::WorkerError::from);
    match served.and_then(|stdout| worker::serve(&mut BufReader::new(io::stdin().lock()), stdout)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("twinfer-rten: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Standard output for frames alone: what else is printed there goes to stderr from now on.
fn take_stdout() -> io::Result<File> {
    let stdout = fcntl_dupfd_cloexec(stdio::stdout(), ABOVE_STDERR)?;
    stdio::dup2_stdout(stdio::stderr())?;
    Ok(File::from(stdout))
}
