use std::path::PathBuf;

use clap::Args;
use twinfer_configuration::Configuration;
use twinfer_reports::{Format, Report};

use crate::{Exit, Failure, formats::formats, issues::resolve, output::write, resumption::Resumption};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Run directory that a campaign wrote
    run: PathBuf,
    /// Known issues [default: ./twinfer.toml if present]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Report format
    #[arg(long, default_value_t = Format::Terminal, value_parser = formats())]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let configuration = Configuration::read(arguments.config.as_deref())?;
    let mut report = Report::of_directory(&arguments.run).map_err(Failure::usage)?;
    resolve(&mut report, &configuration.known, None)?;
    report.resume = Resumption::of_report(&report, &arguments.run).map(|command| command.to_string());
    write(&arguments.format.render(&report));
    Ok(Exit::Conforms)
}
