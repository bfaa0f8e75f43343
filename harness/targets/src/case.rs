//! Cases by path: the folder of a finding, a case file, or a user's model.

use std::path::Path;

use twinfer_case::{Arithmetic, Case, EncodedCase};
use twinfer_checks::{expected_outputs, golden, references};
use twinfer_onnx::Tensor;
use twinfer_store::{read_model, write_case_folder};

use crate::TargetError;

/// The case at `path`: the folder of a finding, a JSON case file, or an ONNX model, for which one run of Gaussian inputs is
/// generated.
pub fn read_case(path: &Path) -> Result<Case, TargetError> {
    if path.is_dir() {
        return Ok(twinfer_store::read_case(path)?);
    }
    if path.extension().is_some_and(|extension| extension == "json") {
        return Ok(twinfer_store::read_case_file(path)?);
    }
    Case::from_onnx(&read_model(path)?)
        .map_err(|error| TargetError::Model { path: path.to_owned(), reason: error.to_string() })
}

/// Writes `case` to `folder`, with its tensors as data and the outputs that golden computes.
pub fn write_case(folder: &Path, case: &Case) -> Result<(), TargetError> {
    let encoded = EncodedCase::encode(case.clone())?;
    let outputs = expected_outputs(&references(&encoded, &golden(), Arithmetic::default()))?;
    Ok(write_case_folder(folder, &encoded, &outputs)?)
}

/// What golden computes: the outputs of each run, in the graph's order, each element rounded once from the exact result.
///
/// An error if golden cannot compute a run, or the specification does not say what its outputs are.
pub fn expected(case: &Case) -> Result<Vec<Vec<Tensor>>, TargetError> {
    let encoded = EncodedCase::encode(case.clone())?;
    let references = references(&encoded, &golden(), Arithmetic::default());
    if let Some(reason) = references.iter().find_map(|reference| reference.as_ref().err()) {
        return Err(TargetError::NoReference(reason.to_string()));
    }
    Ok(expected_outputs(&references)?.into_iter().flatten().collect())
}
