//! The worker process: serves the variants that the handshake names until the supervisor closes the pipe.

use std::process::ExitCode;

fn main() -> ExitCode {
    twinfer_worker::worker_main()
}
