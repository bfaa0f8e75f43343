mod doctor;
mod install;
mod list;

use clap::Subcommand;

use crate::{Exit, Failure};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Install libraries by name, from a wheel, or register a folder that holds them
    Install(install::Arguments),
    /// Show which libraries are installed and which can be
    List,
    /// Examine what is installed and say what this machine lacks
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
