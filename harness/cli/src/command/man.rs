//! Writes manual pages.

use std::{fs, path::PathBuf};

use clap::{Args, CommandFactory};

use crate::{Exit, Failure, output::note};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder to write, such as ~/.local/share/man/man1
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub fn run(Arguments { out }: &Arguments) -> Result<Exit, Failure> {
    let failed =
        |error| Failure::environment(format!("cannot write manual pages to {}: {error}", out.display()));
    fs::create_dir_all(out).map_err(failed)?;
    clap_mangen::generate_to(crate::Arguments::command(), out).map_err(failed)?;
    note!("wrote manual pages to {}", out.display());
    Ok(Exit::Conforms)
}
