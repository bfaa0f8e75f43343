mod campaign;
mod collection;
mod inputs;
mod subject;
mod survey;

use std::path::{Path, PathBuf};

use clap::Args;
use twinfer_configuration::Variants;
use twinfer_reports::Format;

use self::{collection::Collection, subject::Subject};
use crate::{Exit, Failure, formats::formats, output::write};

#[derive(Debug, Args)]
pub struct Arguments {
    /// An ONNX model, or a case: its folder or its case.json; several cases, or a folder of cases, make a table
    #[arg(required = true)]
    models: Vec<PathBuf>,
    /// What to compare with golden, separated by commas; with each other on a model that golden does not know
    #[arg(long, default_value = Variants::DEFAULT, value_name = "A,B")]
    backends: Variants,
    /// Keep what was observed beside the folder of each case: NAME.observed.json
    #[arg(long)]
    record: bool,
    /// Run nothing: show what is kept beside each case
    #[arg(long, conflicts_with_all = ["record", "backends"])]
    recorded: bool,
    /// How many sets of inputs a model is given; a case has its own
    #[arg(long, default_value_t = 8)]
    cases: u64,
    /// The extent of a symbolic dimension: N=4; otherwise the smallest that fits, or 2 where golden
    /// does not know the model
    #[arg(long = "dim", value_name = "NAME=N", value_parser = inputs::parse_extent)]
    dims: Vec<(String, usize)>,
    /// Decides the inputs of a model
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Where the run is written [default: nowhere]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How the result is written
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
    let report = match subject {
        Subject::Cases(cases) => campaign::run(cases, variants, out)?,
        Subject::Opaque(opaque) => campaign::compare(&opaque, &variants, &out)?,
    };
    write(format_args!("{}", arguments.format.render(&report)));
    Ok(if report.findings.is_empty() { Exit::Conforms } else { Exit::Findings })
}
