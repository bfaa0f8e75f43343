//! The `twinfer` executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    twinfer_cli::main()
}
