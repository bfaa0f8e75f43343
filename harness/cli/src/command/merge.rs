use std::{fs, path::PathBuf};

use clap::Args;
use twinfer_reports::{Format, Report, stored_events};

use crate::{Exit, Failure, formats::formats, output::write};

#[derive(Debug, Args)]
pub struct Arguments {
    /// The directories of the shards
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// Where the whole run is written: a folder that is empty or not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How the result is written
    #[arg(long, default_value_t = Format::Terminal, value_parser = formats())]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let out = &arguments.out;
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::usage(format!("{} is not empty: give another folder", out.display())));
    }
    let missing = twinfer_campaign::merge(&arguments.runs, out)?;
    for shard in missing {
        eprintln!("shard {shard} is not among them: its cases are missing");
    }
    let report = Report::of(&stored_events(out).map_err(Failure::usage)?);
    write(format_args!("{}", arguments.format.render(&report)));
    Ok(if report.findings.is_empty() { Exit::Conforms } else { Exit::Findings })
}
