//! The files of a reproduction.

use std::{fs, path::Path};

use twinfer_case::{BackendName, Expectation, Task};
use twinfer_golden::Reference;
use twinfer_libraries::{Environment, Product};
use twinfer_onnx::DataType;
use twinfer_store::RecordedObservation;

use super::{
    python::{self, Literal},
    readme,
    reproduction::{Reproduction, raw_name},
    runtime::Runtime,
};
use crate::Failure;

const DATA: &str = include_str!("scripts/data.py");
const REPRODUCE: &str = include_str!("scripts/reproduce.py");
const RUN_MODEL: &str = include_str!("scripts/run_model.py");
const RTEN_PROGRAM: &str = include_str!("scripts/rten.rs");
const RTEN_MANIFEST: &str = include_str!("scripts/rten.toml");

/// Writes the model with its data in the layout of ONNX's backend tests, raw inputs and expected outputs for the scripts, the
/// scripts and a README.
pub fn write(reproduction: &Reproduction, out: &Path) -> Result<(), Failure> {
    twinfer_targets::write_case(out, &reproduction.case)?;
    let runs = write_inputs(&reproduction.task, "raw", out)?;
    let mut preceding = Vec::new();
    for (index, task) in reproduction.preceding.iter().enumerate() {
        let model = format!("before/{index:04}.onnx");
        file(out, &model, &task.model)?;
        let runs = write_inputs(task, &format!("before/{index:04}"), out)?;
        preceding.push(Literal::Tuple(vec![Literal::text(&model), runs]));
    }
    let expected = write_expected(&reproduction.expected(), out)?;
    let data = python::with_constants(
        DATA,
        &[
            ("DEFAULT", Literal::texts(reproduction.runtimes().first().iter().flat_map(|it| &it.arguments))),
            ("COMMANDS", Literal::List(reproduction.runtimes().iter().map(command).collect())),
            ("KIND", Literal::text(&reproduction.kind().map(|kind| kind.to_string()).unwrap_or_default())),
            ("KINDS", Literal::texts(reproduction.kinds().iter().map(ToString::to_string))),
            ("VALID", Literal::Bool(reproduction.case.expectation == Expectation::Valid)),
            ("QUANTIZED", Literal::Bool(reproduction.is_quantized())),
            ("HALF", Literal::Bool(reproduction.is_half())),
            ("FALLBACK_NODES", Literal::texts(reproduction.fallback_nodes())),
            ("PRECEDING", Literal::List(preceding)),
            ("RUNS", runs),
            ("EXPECTED", expected),
        ],
    );
    file(out, "data.py", data.as_bytes())?;
    file(out, "reproduce.py", REPRODUCE.as_bytes())?;
    file(out, "run_model.py", RUN_MODEL.as_bytes())?;
    for observed in &reproduction.observations {
        write_program(observed, out)?;
    }
    file(out, "README.md", readme::page(reproduction).as_bytes())
}

/// Writes what the scripts need of a backend that is no Python package, or that runs no ONNX.
fn write_program(observed: &RecordedObservation, out: &Path) -> Result<(), Failure> {
    match observed.variant.backend {
        BackendName::Rten => {
            let version = observed.version.version();
            let is_number = !version.is_empty() && version.chars().all(|c| c.is_ascii_digit() || c == '.');
            let manifest = RTEN_MANIFEST
                .replace("=VERSION", &if is_number { format!("={version}") } else { "*".to_owned() });
            file(out, "rten/Cargo.toml", manifest.as_bytes())?;
            file(out, "rten/src/main.rs", RTEN_PROGRAM.as_bytes())
        }
        BackendName::TorchTensorRt => {
            let environment = Environment::of(Product::TorchTensorRt);
            let mut sources = environment.into_iter().flat_map(Environment::sources);
            sources.try_for_each(|(name, text)| file(out, &format!("converter/{name}"), text.as_bytes()))
        }
        _ => Ok(()),
    }
}

/// The title of a runtime and its arguments.
fn command(runtime: &Runtime) -> Literal {
    Literal::Tuple(vec![Literal::text(runtime.title), Literal::texts(&runtime.arguments)])
}

/// Writes the inputs of each run under `folder`; their files, types and shapes by run and name.
fn write_inputs(task: &Task, folder: &str, out: &Path) -> Result<Literal, Failure> {
    let names: Vec<_> = twinfer_onnx::Graph::decode(&task.model)
        .map(|graph| graph.inputs.into_iter().map(|input| input.name).collect())
        .map_err(Failure::usage)?;
    let mut runs = Vec::new();
    for (run, inputs) in task.runs.iter().enumerate() {
        let mut entries = Vec::new();
        for (index, (name, tensor)) in names.iter().zip(inputs).enumerate() {
            let path = format!("{folder}/{}", raw_name(run, index));
            file(out, &path, &tensor.to_le_bytes())?;
            let about = vec![Literal::text(&path), numpy_type(tensor.dtype()), Literal::shape(&tensor.shape)];
            entries.push((Literal::text(name), Literal::Tuple(about)));
        }
        runs.push(Literal::Dict(entries));
    }
    Ok(Literal::List(runs))
}

/// Writes the exact values of each output and the deviations that conform; types, shapes and files by run.
fn write_expected(expected: &[Vec<Reference>], out: &Path) -> Result<Literal, Failure> {
    let mut runs = Vec::new();
    for (run, references) in expected.iter().enumerate() {
        let mut outputs = Vec::new();
        for (index, reference) in references.iter().enumerate() {
            let values = format!("expected/run_{run}_output_{index}_values.bin");
            let bounds = format!("expected/run_{run}_output_{index}_bounds.bin");
            file(out, &values, &doubles(&reference.values))?;
            file(out, &bounds, &doubles(&reference.bound))?;
            outputs.push(Literal::Tuple(vec![
                numpy_type(reference.dtype),
                Literal::shape(&reference.shape),
                Literal::text(&values),
                Literal::text(&bounds),
            ]));
        }
        runs.push(Literal::List(outputs));
    }
    Ok(Literal::List(runs))
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The numpy type; `bfloat16` is loaded as its bits because numpy lacks that type.
fn numpy_type(dtype: DataType) -> Literal {
    Literal::text(match dtype {
        DataType::Float => "<f4",
        DataType::Double => "<f8",
        DataType::Float16 => "<f2",
        DataType::Bfloat16 => "<u2",
        DataType::Int8 => "<i1",
        DataType::Uint8 => "<u1",
        DataType::Int32 => "<i4",
        DataType::Bool => "?",
        _ => "<i8",
    })
}

fn file(out: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let path = out.join(name);
    let folder = path.parent().unwrap_or(out);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, bytes))
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
}
