//! Cases by path: the folder of a finding, a case file, or a user's model.

use std::path::Path;

use twinfer_case::{
    Arithmetic, Case, EncodedCase, Expectation, Provenance, Recipe, Regime, Request, Run, TensorSource,
};
use twinfer_checks::{expected_outputs, golden, references};
use twinfer_onnx::{DataType, Dim, Graph};
use twinfer_store::{read_model, write_case_folder};

use crate::TargetError;

/// The extent of every symbolic axis in the inputs generated for a user's model.
const SYMBOLIC_EXTENT: usize = 2;

/// The case at `path`: the folder of a finding, a JSON case file, or an ONNX model, for which one run of Gaussian inputs is
/// generated.
pub fn read_case(path: &Path) -> Result<Case, TargetError> {
    if path.is_dir() {
        return Ok(twinfer_store::read_case(path)?);
    }
    if path.extension().is_some_and(|extension| extension == "json") {
        return Ok(twinfer_store::read_case_file(path)?);
    }
    let graph = Graph::decode(&read_model(path)?)
        .map_err(|error| TargetError::Model { path: path.to_owned(), reason: error.to_string() })?;
    Ok(case_of(graph))
}

fn case_of(graph: Graph) -> Case {
    let input = |(index, info): (usize, &twinfer_onnx::ValueInfo)| {
        let extent = |dim: &Dim| match dim {
            Dim::Fixed(extent) => *extent,
            Dim::Symbolic(_) => SYMBOLIC_EXTENT,
        };
        TensorSource::Recipe(Recipe {
            dtype: info.dtype,
            shape: info.shape.iter().flatten().map(extent).collect(),
            regime: Regime::Gaussian,
            seed: index as u64,
        })
    };
    let inputs = graph.inputs.iter().enumerate().map(input).collect();
    Case {
        graph,
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs }],
        expectation: Expectation::Valid,
        provenance: None::<Provenance>,
    }
}

/// Writes `case` to `folder`, with its tensors as data and the outputs that golden computes.
pub fn write_case(folder: &Path, case: &Case) -> Result<(), TargetError> {
    let encoded = EncodedCase::encode(case.clone())?;
    let outputs = expected_outputs(&references(&encoded, &golden(), Arithmetic::default()))?;
    Ok(write_case_folder(folder, &encoded, &outputs)?)
}
