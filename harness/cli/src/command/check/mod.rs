mod campaign;
mod inputs;

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use twinfer_campaign::read_case;
use twinfer_case::Case;
use twinfer_onnx::Graph;
use twinfer_reports::Format;

use crate::{Exit, Failure, formats::formats, output::write, variants::Variants};

#[derive(Debug, Args)]
pub struct Arguments {
    /// An ONNX model, or a case: its folder or its case.json
    model: PathBuf,
    /// What to compare with golden, separated by commas
    #[arg(long, default_value = Variants::DEFAULT, value_name = "A,B")]
    backends: Variants,
    /// How many sets of inputs a model is given; a case has its own
    #[arg(long, default_value_t = 8)]
    cases: u64,
    /// The extent of a symbolic dimension: N=4; otherwise the smallest that fits
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
    let cases = cases(arguments)?;
    let scratch = tempfile::tempdir().map_err(Failure::environment)?;
    let out = arguments.out.clone().unwrap_or_else(|| scratch.path().to_owned());
    let report = campaign::run(cases, arguments.backends.subjects(), out)?;
    write(format_args!("{}", arguments.format.render(&report)));
    Ok(if report.findings.is_empty() { Exit::Conforms } else { Exit::Findings })
}

fn cases(arguments: &Arguments) -> Result<Vec<Case>, Failure> {
    let path = &arguments.model;
    if path.is_dir() || path.extension().is_some_and(|extension| extension == "json") {
        return Ok(vec![read_case(path)?]);
    }
    inputs::cases(&read_model(path)?, &arguments.dims, arguments.seed, arguments.cases)
}

fn read_model(path: &Path) -> Result<Graph, Failure> {
    let unreadable =
        |error| Failure::usage(format!("cannot read {}: {error}: give an ONNX model", path.display()));
    let bytes = fs::read(path).map_err(unreadable)?;
    Graph::decode(&bytes).map_err(|error| Failure::usage(format!("cannot check {}: {error}", path.display())))
}
