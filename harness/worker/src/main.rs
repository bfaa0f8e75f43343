//! A worker process: serves the backends that its handshake names, until its supervisor closes the pipe.

use std::process::ExitCode;

fn main() -> ExitCode {
    twinfer_worker::worker_main()
}
