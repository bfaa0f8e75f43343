//! Worker processes: the only users of backend libraries.
//!
//! A worker serves the variants that its handshake names, over the worker protocol on stdin and stdout, and keeps
//! their backends warm. It is the binary `twinfer-worker`, the `worker` subcommand of `twinfer`, or a test binary
//! that calls [`become_worker_if_asked`] first:
//!
//! ```
//! // the first statement of `main`; it returns if this process is not a worker
//! twinfer_worker::become_worker_if_asked();
//! ```

mod bounds_check;
mod end;
#[cfg(feature = "fault-injection")]
mod fault_injection;
mod message_reader;
mod message_sink;
mod message_writer;
mod open;
mod output;
mod parent;
mod plan_process;
mod serve;
mod stack;
mod stdout;
#[cfg(test)]
mod test_messages;

use std::{env, io, process, process::ExitCode};

#[cfg(feature = "fault-injection")]
pub use fault_injection::FAULT_INJECTION_VARIABLE;
pub use message_sink::MessageSink;
pub use open::open;
pub use output::message_sink;
pub use serve::{ServeError, serve};
pub use stdout::take as take_stdout;

/// The environment variable that makes [`become_worker_if_asked`] serve.
pub const WORKER_VARIABLE: &str = "TWINFER_WORKER";

/// Serves on stdin and stdout until the supervisor closes the pipe.
///
/// Output that a library prints to stdout goes to stderr instead. The process ends when its parent ends, even while a library
/// is busy. The exit code is 0 after a closed pipe and 3 after an error, which is also printed to stderr.
///
/// If the supervisor asks for it, the process keeps a worker instead, as [`twinfer_keeper`] describes.
pub fn worker_main() -> ExitCode {
    twinfer_keeper::become_keeper_if_asked();
    parent::end_with_parent();
    let _log = twinfer_log::start_in_worker();
    let result =
        stdout::take().map_err(ServeError::from).and_then(|output| serve(io::stdin().lock(), output));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(reason = error.to_string(), "worker stops");
            eprintln!("twinfer worker: {error}");
            ExitCode::from(3)
        }
    }
}

/// Serves and exits if [`WORKER_VARIABLE`] is set, or keeps a worker and exits if the supervisor asks for that; returns
/// otherwise.
///
/// A `cargo test` binary that is its own worker calls this before anything else.
pub fn become_worker_if_asked() {
    twinfer_keeper::become_keeper_if_asked();
    if env::var_os(WORKER_VARIABLE).is_some() {
        let code = if worker_main() == ExitCode::SUCCESS { 0 } else { 3 };
        process::exit(code);
    }
}
