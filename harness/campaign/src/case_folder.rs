//! The folder of a case: `case.json`, `model.onnx`, and `test_data_set_<k>/` per run in the layout of ONNX's backend
//! tests.

use std::{fs, path::Path, sync::Arc};

use twinfer_case::{Case, CaseFile, MAX_FILE_BYTES, Run, TensorSource, read_file, read_file_in};
use twinfer_onnx::Tensor;

use crate::{
    CampaignError, Oracle,
    journal::{write, write_json},
    prepared::{Prepared, References},
};

/// The file of the case itself.
pub const CASE: &str = "case.json";

/// Writes `case` with its tensors as data, and with what golden computes of it, to `folder`.
pub fn write_case(folder: &Path, case: &Case) -> Result<(), CampaignError> {
    let prepared = Prepared::of(case.clone())?;
    let oracle: Oracle = Arc::new(twinfer_golden::evaluate);
    write_prepared(folder, &prepared, &prepared.references(&oracle))
}

/// Writes a case that is encoded and evaluated.
pub fn write_prepared(
    folder: &Path,
    prepared: &Prepared,
    references: &References,
) -> Result<(), CampaignError> {
    fs::create_dir_all(folder).map_err(CampaignError::writing(folder))?;
    write_materialized(&folder.join(CASE), prepared)?;
    write(&folder.join("model.onnx"), &prepared.task.model)?;
    for (run, inputs) in prepared.task.runs.iter().enumerate() {
        let data_set = folder.join(format!("test_data_set_{run}"));
        fs::create_dir_all(&data_set).map_err(CampaignError::writing(&data_set))?;
        write_inputs(&data_set, prepared, inputs)?;
        write_outputs(&data_set, prepared, references, run)?;
    }
    Ok(())
}

/// The case in a folder that may come from somewhere else; nothing outside it is read.
pub fn read_case_in(folder: &Path, name: impl AsRef<Path>) -> Result<Case, CampaignError> {
    let path = folder.join(&name);
    let bytes = read_file_in(folder, name).map_err(CampaignError::file(&path))?;
    Case::from_file(&bytes).map_err(CampaignError::format(path))
}

/// The case in a file.
pub fn read_case_file(path: &Path) -> Result<Case, CampaignError> {
    let bytes = read_file(path, MAX_FILE_BYTES).map_err(CampaignError::file(path))?;
    Case::from_file(&bytes).map_err(CampaignError::format(path))
}

/// Writes a case so that no later generator changes it.
pub fn write_materialized(path: &Path, prepared: &Prepared) -> Result<(), CampaignError> {
    write_json(path, &CaseFile::from(&materialized(prepared)))
}

/// The case with its tensors as data.
fn materialized(prepared: &Prepared) -> Case {
    let data =
        |inputs: &Vec<Tensor>| Run { inputs: inputs.iter().cloned().map(TensorSource::Data).collect() };
    Case { runs: prepared.task.runs.iter().map(data).collect(), ..prepared.case.clone() }
}

fn write_inputs(data_set: &Path, prepared: &Prepared, inputs: &[Tensor]) -> Result<(), CampaignError> {
    for (index, (info, tensor)) in prepared.case.graph.inputs.iter().zip(inputs).enumerate() {
        write(&data_set.join(format!("input_{index}.pb")), &tensor.encode_proto(&info.name))?;
    }
    Ok(())
}

/// Where golden knows them.
fn write_outputs(
    data_set: &Path,
    prepared: &Prepared,
    references: &References,
    run: usize,
) -> Result<(), CampaignError> {
    let Some(Ok(evaluation)) = references.get(run) else { return Ok(()) };
    for (index, (info, reference)) in prepared.case.graph.outputs.iter().zip(&evaluation.outputs).enumerate()
    {
        let path = data_set.join(format!("output_{index}.pb"));
        let tensor = reference.to_tensor().map_err(CampaignError::format(&path))?;
        write(&path, &tensor.encode_proto(&info.name))?;
    }
    Ok(())
}
