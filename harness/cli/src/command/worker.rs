use crate::Exit;

/// Serves the worker protocol on stdin and stdout; the supervisor starts this and nobody else does.
pub fn run() -> Exit {
    if twinfer_worker::worker_main() == std::process::ExitCode::SUCCESS {
        Exit::Conforms
    } else {
        Exit::Environment
    }
}
