mod doctor;
mod install;
mod list;
mod options;
mod pack;

use clap::Subcommand;

use crate::{Exit, Failure};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Install libraries by name or from a wheel, or register a folder of libraries
    Install(install::Arguments),
    /// List installed and available libraries
    List,
    /// List the options of every backend, with their values and the releases that have them
    Options(options::Arguments),
    /// Write this command and installed libraries to one file, for a machine without a network
    Pack(pack::PackArguments),
    /// Install the libraries in a file that `pack` wrote
    Unpack(pack::UnpackArguments),
    /// Check the installed libraries and what this machine lacks to run them
    Doctor,
}

impl Command {
    pub fn run(self) -> Result<Exit, Failure> {
        match self {
            Self::Install(arguments) => install::run(&arguments),
            Self::List => list::run(),
            Self::Options(arguments) => Ok(options::run(&arguments)),
            Self::Pack(arguments) => pack::pack(&arguments),
            Self::Unpack(arguments) => pack::unpack(&arguments),
            Self::Doctor => doctor::run(),
        }
    }
}
