//! The folder of a case: `case.json`, `model.onnx`, and `test_data_set_<k>/` per run in the layout of ONNX's backend
//! tests.

use std::{fs, path::Path};

use twinfer_case::{Case, CaseFile, EncodedCase, MAX_FILE_BYTES, Run, TensorSource, read_file, read_file_in};
use twinfer_onnx::Tensor;

use crate::{
    StoreError,
    files::{write, write_json},
    names::{self, CASE, MODEL, tensor_file},
};

/// The expected outputs of each run of a case, in the order of the graph's outputs; `None` for a run whose outputs are not
/// known.
pub type Outputs = [Option<Vec<Tensor>>];

/// Whether `folder` holds a case.
pub fn has_case(folder: &Path) -> bool {
    folder.join(CASE).is_file()
}

/// The case in `folder`, which may be foreign: nothing outside the folder is read.
pub fn read_case(folder: &Path) -> Result<Case, StoreError> {
    read_case_in(folder, CASE)
}

/// Writes to `folder` a case with its tensors as data, its model, and the inputs and expected outputs of each run.
pub fn write_case_folder(folder: &Path, encoded: &EncodedCase, outputs: &Outputs) -> Result<(), StoreError> {
    fs::create_dir_all(folder).map_err(StoreError::writing(folder))?;
    write_materialized(&folder.join(CASE), encoded)?;
    write_data(folder, encoded, outputs)
}

/// Writes to `folder` a case with its tensors as recipes, its model, and the inputs of each run.
pub fn write_generated_case(folder: &Path, encoded: &EncodedCase) -> Result<(), StoreError> {
    fs::create_dir_all(folder).map_err(StoreError::writing(folder))?;
    write_json(&folder.join(CASE), &CaseFile::from(&encoded.case))?;
    write_data(folder, encoded, &[])
}

fn write_data(folder: &Path, encoded: &EncodedCase, outputs: &Outputs) -> Result<(), StoreError> {
    let graph = &encoded.case.graph;
    write(&folder.join(MODEL), &encoded.task.model)?;
    for (run, inputs) in encoded.task.runs.iter().enumerate() {
        write_tensors(folder, run, "input", graph.inputs.iter().map(|info| info.name.as_str()), inputs)?;
        if let Some(Some(outputs)) = outputs.get(run) {
            let names = graph.outputs.iter().map(|info| info.name.as_str());
            write_tensors(folder, run, "output", names, outputs)?;
        }
    }
    Ok(())
}

/// Writes the tensors of a run to the folder of a case, each with its name in the graph. `kind` is `input` or `output`.
pub fn write_tensors<'a>(
    folder: &Path,
    run: usize,
    kind: &str,
    names: impl Iterator<Item = &'a str>,
    tensors: &[Tensor],
) -> Result<(), StoreError> {
    let data_set = folder.join(names::data_set(run));
    fs::create_dir_all(&data_set).map_err(StoreError::writing(&data_set))?;
    for (index, (name, tensor)) in names.zip(tensors).enumerate() {
        write(&folder.join(tensor_file(run, kind, index)), &tensor.encode_proto(name))?;
    }
    Ok(())
}

/// The expected output at `index` of a run of the case in `folder`, which may be foreign: nothing outside the folder is read. `None` if it
/// is not stored.
pub fn read_output(folder: &Path, run: usize, index: usize) -> Result<Option<Tensor>, StoreError> {
    let file = tensor_file(run, "output", index);
    let path = folder.join(&file);
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = read_file_in(folder, &file).map_err(StoreError::file(&path))?;
    Tensor::decode_proto(&bytes).map(Some).map_err(StoreError::format(path))
}

/// The case in the file `name` of `folder`, which may be foreign: nothing outside the folder is read.
pub fn read_case_in(folder: &Path, name: impl AsRef<Path>) -> Result<Case, StoreError> {
    let path = folder.join(&name);
    let bytes = read_file_in(folder, name).map_err(StoreError::file(&path))?;
    Case::from_file(&bytes).map_err(StoreError::format(path))
}

/// The case in the JSON file at `path`.
pub fn read_case_file(path: &Path) -> Result<Case, StoreError> {
    let bytes = read_file(path, MAX_FILE_BYTES).map_err(StoreError::file(path))?;
    Case::from_file(&bytes).map_err(StoreError::format(path))
}

/// Writes a case to the file at `path` with its tensors as data, so that it stays the same when generators change.
pub fn write_materialized(path: &Path, encoded: &EncodedCase) -> Result<(), StoreError> {
    write_json(path, &CaseFile::from(&materialized(encoded)))
}

/// The case with its tensors as data.
fn materialized(encoded: &EncodedCase) -> Case {
    let data =
        |inputs: &Vec<Tensor>| Run { inputs: inputs.iter().cloned().map(TensorSource::Data).collect() };
    Case { runs: encoded.task.runs.iter().map(data).collect(), ..encoded.case.clone() }
}
