//! Worker processes: the only users of backend libraries.
//!
//! A worker serves the variants that its handshake names, over the worker protocol on stdin and stdout, and keeps
//! their backends warm. Any executable can be one: a thin binary, the `worker` subcommand of `twinfer`, or a test
//! binary that calls [`become_worker_if_asked`] first.

mod fault_injection;
mod message_reader;
mod open;
mod parent;
mod serve;
mod stdout;

use std::{io, process::ExitCode};

pub use fault_injection::{SABOTAGE_VARIABLE, Sabotage, Voice};
pub use open::open;
pub use serve::{ServeError, serve};
pub use stdout::take as take_stdout;

/// The environment variable that makes [`become_worker_if_asked`] serve.
pub const WORKER_VARIABLE: &str = "TWINFER_WORKER";

/// Serves on stdin and stdout until the supervisor closes the pipe.
///
/// Whatever a library prints to the process's stdout goes to stderr instead, and the process ends when its parent
/// does, even from inside a library.
pub fn worker_main() -> ExitCode {
    parent::end_with_parent();
    let result =
        stdout::take().map_err(ServeError::from).and_then(|output| serve(io::stdin().lock(), output));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("twinfer worker: {error}");
            ExitCode::from(3)
        }
    }
}

/// Turns this process into a worker where [`WORKER_VARIABLE`] is set; returns otherwise.
///
/// A `cargo test` binary that is its own worker calls this before anything else.
pub fn become_worker_if_asked() {
    if std::env::var_os(WORKER_VARIABLE).is_some() {
        let code = if worker_main() == ExitCode::SUCCESS { 0 } else { 3 };
        std::process::exit(code);
    }
}
