mod campaign;
mod collection;
mod inputs;
mod subject;
mod survey;
mod table;

use std::path::{Path, PathBuf};

use clap::Args;
use twinfer_configuration::Variants;
use twinfer_log::LogLevel;
use twinfer_reports::Format;

use self::{collection::Collection, subject::Subject};
use crate::{Exit, Failure, formats::formats, output::write, run_log::RunLog};

#[derive(Debug, Args)]
pub struct Arguments {
    /// ONNX model, case folder or case.json; several cases, or a folder of cases, are reported as a table
    #[arg(required = true)]
    models: Vec<PathBuf>,
    /// Backends to compare with golden, separated by commas; if golden does not support the model, they are compared with
    /// each other
    #[arg(long, default_value = Variants::DEFAULT, value_name = "A,B")]
    backends: Variants,
    /// Store the observations beside the folder of each case, as NAME.observed.json
    #[arg(long)]
    record: bool,
    /// Run nothing; show the observations stored beside each case
    #[arg(long, conflicts_with_all = ["record", "backends"])]
    recorded: bool,
    /// Input sets to generate for a model; a case has its own
    #[arg(long, default_value_t = 8)]
    cases: u64,
    /// Extent of a symbolic dimension [default: the smallest that fits; 2 if golden does not support the model]
    #[arg(long = "dim", value_name = "NAME=N", value_parser = inputs::parse_extent)]
    dims: Vec<(String, usize)>,
    /// Seed of the generated inputs
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Run directory to write [default: none]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write debug.log to --out, or to a new run directory, at this level: error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL")]
    log: Option<LogLevel>,
    /// Report format
    #[arg(long, default_value_t = Format::Terminal, value_parser = formats())]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match (Collection::of(&arguments.models)?, arguments.models.as_slice()) {
        (Some(cases), _) => survey::run(&cases, arguments),
        (None, [one]) if !arguments.record && !arguments.recorded => check_one(one, arguments),
        (None, paths) => survey::run(&Collection::listed(paths)?, arguments),
    }
}

fn check_one(model: &Path, arguments: &Arguments) -> Result<Exit, Failure> {
    let subject = Subject::read(model, arguments)?;
    let scratch = tempfile::tempdir().map_err(Failure::environment)?;
    let out = arguments.out.clone().unwrap_or_else(|| scratch.path().to_owned());
    let variants = arguments.backends.subjects();
    let log = RunLog::start_if_requested(arguments.log, arguments.out.as_deref())?;
    let report = match subject {
        Subject::Cases(cases) => campaign::run(cases, variants, out, log.as_ref())?,
        Subject::Opaque(opaque) => campaign::compare(&opaque, &variants, &out, log.as_ref())?,
    };
    write(format_args!("{}", arguments.format.render(&report)));
    Ok(if report.findings.is_empty() { Exit::Conforms } else { Exit::Findings })
}
