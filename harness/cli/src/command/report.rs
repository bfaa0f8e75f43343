use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use twinfer_configuration::Configuration;
use twinfer_reports::{Format, Report};

use crate::{Exit, Failure, formats::formats, issues::resolve, output::write, page, resumption::Resumption};

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
    /// File to write the report to [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let configuration = Configuration::read(arguments.config.as_deref())?;
    let mut report = Report::of_directory(&arguments.run)?;
    resolve(&mut report, &configuration.known, None)?;
    report.resume = Resumption::of_report(&report, &arguments.run).map(|command| command.to_string());
    let output = arguments.output.as_deref();
    if output.is_some() {
        console::set_colors_enabled(false);
    }
    let text = page::render_as(arguments.format, output, &arguments.run, &report);
    match output {
        Some(path) => fs::write(path, text).map_err(|error| unwritable(path, &error))?,
        None => write(&text),
    }
    Ok(Exit::Conforms)
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::environment(format!("cannot write {}: {error}: give another --output", path.display()))
}
