//! The files of a reproduction.

use std::{fs, path::Path};

use twinfer_onnx::{DataType, Tensor, ValueInfo};

use super::{
    readme,
    reproduction::{Reproduction, raw_name},
};
use crate::Failure;

const DATA: &str = include_str!("data.py");
const REPRODUCE: &str = include_str!("reproduce.py");

/// Writes the model with its data in the layout of ONNX's backend tests, the inputs as raw bytes, the scripts and a README.
pub fn write(reproduction: &Reproduction, out: &Path) -> Result<(), Failure> {
    twinfer_targets::write_case(out, &reproduction.case)?;
    for (run, inputs) in reproduction.task.runs.iter().enumerate() {
        for (index, tensor) in inputs.iter().enumerate() {
            file(out, &raw_name(run, index), &tensor.to_le_bytes())?;
        }
    }
    file(out, "data.py", data(reproduction).as_bytes())?;
    file(out, "reproduce.py", REPRODUCE.as_bytes())?;
    file(out, "README.md", readme::page(reproduction).as_bytes())
}

/// The script `data.py`, which loads the inputs by name, type and shape.
fn data(reproduction: &Reproduction) -> String {
    let inputs = &reproduction.case.graph.inputs;
    let run = |(run, tensors): (usize, &Vec<Tensor>)| {
        let input = |(index, (info, tensor)): (usize, (&ValueInfo, &Tensor))| {
            let (name, path) = (text(&info.name), text(&raw_name(run, index)));
            format!("        {name}: ({path}, \"{}\", {}),\n", numpy_type(tensor), tuple(&tensor.shape))
        };
        let entries: String = inputs.iter().zip(tensors).enumerate().map(input).collect();
        format!("    {{\n{entries}    }},\n")
    };
    let runs: String = reproduction.task.runs.iter().enumerate().map(run).collect();
    DATA.replace("RUNS = []", &format!("RUNS = [\n{runs}]"))
}

/// The numpy type of a tensor; `bfloat16` is loaded as its bits because numpy lacks that type.
const fn numpy_type(tensor: &Tensor) -> &'static str {
    match tensor.dtype() {
        DataType::Float => "<f4",
        DataType::Double => "<f8",
        DataType::Float16 => "<f2",
        DataType::Bfloat16 => "<u2",
        DataType::Int8 => "<i1",
        DataType::Uint8 => "<u1",
        DataType::Int32 => "<i4",
        DataType::Bool => "?",
        _ => "<i8",
    }
}

/// A Python string literal; JSON uses a subset of Python's escapes.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A Python tuple; the trailing comma makes a single extent a tuple.
fn tuple(shape: &[usize]) -> String {
    let extents: Vec<_> = shape.iter().map(usize::to_string).collect();
    if extents.is_empty() { "()".to_owned() } else { format!("({},)", extents.join(", ")) }
}

fn file(out: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let path = out.join(name);
    let folder = path.parent().unwrap_or(out);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, bytes))
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
}
