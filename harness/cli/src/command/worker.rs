use crate::Exit;

/// Serves the worker protocol on standard input and output; only the supervisor starts this command.
pub fn run() -> Exit {
    if twinfer_worker::worker_main() == std::process::ExitCode::SUCCESS {
        Exit::Conforms
    } else {
        Exit::Environment
    }
}
