//! The `twinfer` command as a binary of this crate, so that Cargo builds it before the tests and provides its path.

use std::process::ExitCode;

fn main() -> ExitCode {
    twinfer_cli::main()
}
