mod backends;

use clap::Subcommand;

use crate::{Exit, Failure};

/// What `twinfer` can be asked to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Install, list and examine the libraries that backends run on
    #[command(subcommand)]
    Backends(backends::Command),
}

impl Command {
    pub fn run(self) -> Result<Exit, Failure> {
        match self {
            Self::Backends(command) => command.run(),
        }
    }
}
