mod doctor;
mod install;
mod list;

use clap::Subcommand;

use crate::{Exit, Failure};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Install libraries by name or from a wheel, or register a folder of libraries
    Install(install::Arguments),
    /// List installed and available libraries
    List,
    /// Check the installed libraries and what this machine lacks to run them
    Doctor,
}

impl Command {
    pub fn run(self) -> Result<Exit, Failure> {
        match self {
            Self::Install(arguments) => install::run(&arguments),
            Self::List => list::run(),
            Self::Doctor => doctor::run(),
        }
    }
}
