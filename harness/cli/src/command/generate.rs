use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use twinfer_case::{Case, Task};
use twinfer_generators::Family;

use crate::{Exit, Failure, paint};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Where to write: a folder for each case
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
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
    for family in &arguments.family {
        let stream = family.stream(arguments.seed);
        for index in 0..arguments.cases {
            let folder = arguments.out.join(format!("{family}-{}-{index}", arguments.seed));
            write_case(&stream.case(index), &folder)?;
        }
    }
    let total = arguments.cases * arguments.family.len() as u64;
    println!("{} in {}", paint::good(format!("{total} cases")), arguments.out.display());
    Ok(Exit::Conforms)
}

/// `case.json`, `model.onnx`, and the inputs of run `k` under `test_data_set_<k>`, as ONNX lays out its own tests.
fn write_case(case: &Case, folder: &Path) -> Result<(), Failure> {
    let task = Task::of(case).map_err(Failure::environment)?;
    let json = serde_json::to_vec_pretty(case).map_err(Failure::environment)?;
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
