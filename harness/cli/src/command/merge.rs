use std::{fs, path::PathBuf};

use clap::Args;
use twinfer_configuration::Configuration;
use twinfer_reports::{Format, Report};

use crate::{Exit, Failure, formats::formats, issues::settle, output::write};

#[derive(Debug, Args)]
pub struct Arguments {
    /// The directories of the shards
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// Where the whole run is written: a folder that is empty or not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Where the issues are listed that are known [default: twinfer.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How the result is written
    #[arg(long, default_value_t = Format::Terminal, value_parser = formats())]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let configuration = Configuration::read(arguments.config.as_deref())?;
    let out = &arguments.out;
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::usage(format!("{} is not empty: give another folder", out.display())));
    }
    let missing = twinfer_store::merge(&arguments.runs, out)?;
    for shard in missing {
        eprintln!("shard {shard} is not among them: its cases are missing");
    }
    let mut report = Report::of_directory(out).map_err(Failure::usage)?;
    settle(&mut report, &configuration.known, None)?;
    write(format_args!("{}", arguments.format.render(&report)));
    let is_news = report.findings.iter().any(|found| found.new);
    Ok(if is_news || report.summary.open > 0 { Exit::Findings } else { Exit::Conforms })
}
