//! Writes a reproduction folder that runs without twinfer.

mod files;
mod python;
mod readme;
mod reproduction;
mod runtime;

use std::path::PathBuf;

use clap::Args;

use self::reproduction::Reproduction;
use crate::{
    Exit, Failure,
    backends::Backends,
    finding_folder::{ensure_case, ensure_finding_folder},
    out_folder::is_free,
    output::line,
    paint,
};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder of a finding or a case
    case: PathBuf,
    /// Folder to write; must be empty or absent
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Backends to run now, separated by commas [default: use the observations stored beside the case]
    #[arg(long, value_name = "A,B")]
    backends: Option<Backends>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    ensure_finding_folder(&arguments.case)?;
    ensure_case(&arguments.case)?;
    let out = &arguments.out;
    is_free(out)?;
    let reproduction = Reproduction::of(&arguments.case, arguments.backends.as_ref())?;
    files::write(&reproduction, out)?;
    line!(paint::good("written to") => " {}", out.display());
    Ok(Exit::Conforms)
}
