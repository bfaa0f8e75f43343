use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use twinfer_case::{Case, CaseFile, Task};
use twinfer_generators::{Coverage, CoverageReport, Family};

use crate::{Exit, Failure, output::line, paint};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Where to write: a folder for each case
    #[arg(long, value_name = "DIR", required_unless_present = "coverage")]
    out: Option<PathBuf>,
    /// Print what the cases reach: how often each attribute value occurs, and which pairs never do
    #[arg(long)]
    coverage: bool,
    /// Which generators, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = Family::ALL)]
    family: Vec<Family>,
    /// How many cases of each
    #[arg(long, default_value_t = 10)]
    cases: u64,
    /// Decides every case
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(out) = &arguments.out {
        write_all(arguments, out)?;
    }
    if arguments.coverage {
        line!("{}", coverage(arguments));
    }
    Ok(Exit::Conforms)
}

fn write_all(arguments: &Arguments, out: &Path) -> Result<(), Failure> {
    for family in &arguments.family {
        let stream = family.stream(arguments.seed);
        for index in 0..arguments.cases {
            write_case(&stream.case(index), &out.join(format!("{family}-{}-{index}", arguments.seed)))?;
        }
    }
    let total = arguments.cases * arguments.family.len() as u64;
    eprintln!("{} in {}", paint::good(format!("{total} cases")), out.display());
    Ok(())
}

fn coverage(arguments: &Arguments) -> CoverageReport {
    let mut coverage = Coverage::new();
    for family in &arguments.family {
        let stream = family.stream(arguments.seed);
        (0..arguments.cases).for_each(|index| coverage.record(&stream.case(index)));
    }
    coverage.report()
}

/// `case.json`, `model.onnx`, and the inputs of run `k` under `test_data_set_<k>`, as ONNX lays out its own tests.
fn write_case(case: &Case, folder: &Path) -> Result<(), Failure> {
    let task = Task::of(case).map_err(Failure::environment)?;
    let json = serde_json::to_vec_pretty(&CaseFile::from(case)).map_err(Failure::environment)?;
    write(folder, "case.json", &json)?;
    write(folder, "model.onnx", &task.model)?;
    for (number, inputs) in task.runs.iter().enumerate() {
        let data = folder.join(format!("test_data_set_{number}"));
        for ((index, tensor), input) in inputs.iter().enumerate().zip(&case.graph.inputs) {
            write(&data, &format!("input_{index}.pb"), &tensor.encode_proto(&input.name))?;
        }
    }
    Ok(())
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let path = folder.join(name);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, bytes))
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
}
