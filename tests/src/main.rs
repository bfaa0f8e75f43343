//! The `twinfer` command as a binary of this crate, so that Cargo builds it for the tests and tells them its path.

use std::process::ExitCode;

fn main() -> ExitCode {
    twinfer_cli::main()
}
