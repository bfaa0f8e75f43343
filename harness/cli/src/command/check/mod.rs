mod inputs;

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use twinfer_onnx::Graph;
use twinfer_reports::{Format, Report, Reporter};

use crate::{Exit, Failure, single::Single, variants::Variants};

#[derive(Debug, Args)]
pub struct Arguments {
    /// An ONNX model
    model: PathBuf,
    /// What to compare with golden, separated by commas
    #[arg(long, default_value = Variants::DEFAULT, value_name = "A,B")]
    backends: Variants,
    /// How many sets of inputs
    #[arg(long, default_value_t = 8)]
    cases: u64,
    /// The extent of a symbolic dimension: N=4; otherwise the smallest that fits
    #[arg(long = "dim", value_name = "NAME=N", value_parser = inputs::parse_extent)]
    dims: Vec<(String, usize)>,
    /// Decides the inputs
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How the result is written: terminal, json, junit, markdown or html
    #[arg(long, default_value_t = Format::Terminal)]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let graph = read_model(&arguments.model)?;
    let cases = inputs::cases(&graph, &arguments.dims, arguments.seed, arguments.cases)?;
    let out = tempfile::tempdir().map_err(Failure::environment)?;
    let mut report = Report::default();
    let variants = arguments.backends.subjects();
    Single { cases, variants, minimize: false, out: out.path().to_owned() }
        .run(&mut |event| report.hear(event))?;
    print!("{}", arguments.format.render(&report));
    Ok(if report.findings.is_empty() { Exit::Conforms } else { Exit::Findings })
}

fn read_model(path: &Path) -> Result<Graph, Failure> {
    let bytes = fs::read(path).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}: give an ONNX model", path.display()))
    })?;
    Graph::decode(&bytes).map_err(|error| Failure::usage(format!("cannot check {}: {error}", path.display())))
}
