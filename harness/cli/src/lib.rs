//! The `twinfer` command: arguments in, a command's work done, an exit code out.
//!
//! Every command is one file under `command/`; what they share is how they fail ([`Failure`]) and what their exit
//! codes mean ([`Exit`]).

mod campaign;
mod command;
mod exit;
mod failure;
mod formats;
mod installing;
mod issues;
mod json;
mod obstacle;
mod output;
mod paint;
mod provision;
mod resumption;
mod subjects;
mod worker;

use std::process::ExitCode;

use clap::Parser;

pub use exit::Exit;
pub use failure::Failure;
pub use obstacle::Obstacle;

/// Differential conformance testing of neural-network inference backends.
#[derive(Debug, Parser)]
#[command(
    name = "twinfer",
    bin_name = "twinfer",
    version,
    about,
    propagate_version = true,
    max_term_width = 100
)]
struct Arguments {
    #[command(subcommand)]
    command: command::Command,
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let exit = arguments.command.run().unwrap_or_else(|failure| {
        eprintln!("{} {failure}", paint::error("error:"));
        failure.exit
    });
    exit.into()
}
