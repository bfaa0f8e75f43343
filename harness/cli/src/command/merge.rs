use std::{fs, path::PathBuf};

use clap::Args;
use twinfer_configuration::Configuration;
use twinfer_reports::{Format, Report, RunFolder};

use crate::{
    Exit, Failure,
    formats::formats,
    issues::resolve,
    output::{note, write},
    page,
};
use twinfer_triage::is_same_bug;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Run directories of the shards
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// Run directory to write; must be empty or absent
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Known issues [default: ./twinfer.toml if present]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Report format
    #[arg(long, default_value_t = Format::Terminal, value_parser = formats())]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let configuration = Configuration::read(arguments.config.as_deref())?;
    let out = &arguments.out;
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::usage(format!("--out {} is not empty: give another folder", out.display())));
    }
    let missing = twinfer_store::merge(&arguments.runs, out, &is_same_bug)?;
    for shard in missing {
        note!("shard {shard} was not given: its cases are missing");
    }
    let mut report = Report::of_directory(out).map_err(Failure::usage)?;
    resolve(&mut report, &configuration.known, None)?;
    write(&arguments.format.render_run(&report, &RunFolder::around_page(out)));
    page::write_into(out, &report);
    Ok(Exit::of_campaign(&report))
}
