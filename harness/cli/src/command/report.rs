use std::path::PathBuf;

use clap::Args;
use twinfer_configuration::Configuration;
use twinfer_reports::{Format, Report};

use crate::{Exit, Failure, formats::formats, issues::settle, output::write};

#[derive(Debug, Args)]
pub struct Arguments {
    /// The directory that a campaign wrote
    run: PathBuf,
    /// Where the issues are listed that are known [default: twinfer.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How the result is written
    #[arg(long, default_value_t = Format::Terminal, value_parser = formats())]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let configuration = Configuration::read(arguments.config.as_deref())?;
    let mut report = Report::of_directory(&arguments.run).map_err(Failure::usage)?;
    settle(&mut report, &configuration.known, None)?;
    write(format_args!("{}", arguments.format.render(&report)));
    Ok(Exit::Conforms)
}
