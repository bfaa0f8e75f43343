//! The `twinfer` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    twinfer_cli::main()
}
