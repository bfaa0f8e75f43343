use std::path::PathBuf;

use clap::Args;
use twinfer_configuration::Configuration;
use twinfer_reports::{Format, Report};

use crate::{
    Exit, Failure,
    formats::formats,
    issues::resolve,
    out_folder::is_free,
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
    is_free(out)?;
    let missing = twinfer_store::merge(&arguments.runs, out, &is_same_bug)?;
    for shard in missing {
        note!("shard {shard} was not given: its cases are missing");
    }
    let mut report = Report::of_directory(out)?;
    resolve(&mut report, &configuration.known, None)?;
    let page = page::write_into(out, &report);
    write(&page::render_as(arguments.format, None, out, &report));
    note!("{page}");
    Ok(Exit::of_campaign(&report))
}
