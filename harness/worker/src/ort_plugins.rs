//! The worker process of the backends whose execution providers ONNX Runtime loads as plugins.

use std::process::ExitCode;

fn main() -> ExitCode {
    twinfer_worker::worker_main()
}
