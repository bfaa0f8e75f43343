//! The folder of a case: `case.json`, `model.onnx`, and `test_data_set_<k>/` per run in the layout of ONNX's backend
//! tests.

use std::{fs, path::Path, sync::Arc};

use twinfer_case::{Case, Run, TensorSource};
use twinfer_onnx::Tensor;

use crate::{
    CampaignError, Oracle,
    journal::{write, write_json},
    prepared::{Prepared, References},
};

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
    write_json(&folder.join("case.json"), &materialized(prepared))?;
    write(&folder.join("model.onnx"), &prepared.task.model)?;
    for (run, inputs) in prepared.task.runs.iter().enumerate() {
        let data_set = folder.join(format!("test_data_set_{run}"));
        fs::create_dir_all(&data_set).map_err(CampaignError::writing(&data_set))?;
        write_inputs(&data_set, prepared, inputs)?;
        write_outputs(&data_set, prepared, references, run)?;
    }
    Ok(())
}

/// The case with its tensors as data: what no later generator changes.
pub fn materialized(prepared: &Prepared) -> Case {
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
