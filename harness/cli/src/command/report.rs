use std::path::PathBuf;

use clap::Args;
use twinfer_reports::{Format, Report, stored_events};

use crate::{Exit, Failure, formats::formats, output::write};

#[derive(Debug, Args)]
pub struct Arguments {
    /// The directory that a campaign wrote
    run: PathBuf,
    /// How the result is written
    #[arg(long, default_value_t = Format::Terminal, value_parser = formats())]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let events = stored_events(&arguments.run).map_err(Failure::usage)?;
    write(format_args!("{}", arguments.format.render(&Report::of(&events))));
    Ok(Exit::Conforms)
}
