//! Writes what shells complete.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use crate::{Exit, Failure, output::write};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Shell that runs the script
    shell: Shell,
}

pub fn run(Arguments { shell }: &Arguments) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(*shell, &mut crate::Arguments::command(), "twinfer", &mut script);
    write(&String::from_utf8(script).map_err(Failure::environment)?);
    Ok(Exit::Conforms)
}
