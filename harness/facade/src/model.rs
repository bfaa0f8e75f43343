use std::path::Path;

use twinfer_case::Case;

use crate::Error;

/// The case at `path`: an ONNX model, with the inputs of [`Case::from_onnx`], whose initializers may be in other files of its folder; a case
/// folder, such as that of a finding; or a `case.json`.
///
/// An error if there is none, or if it has an operator that golden does not know.
pub fn read_case(path: impl AsRef<Path>) -> Result<Case, Error> {
    Ok(twinfer_targets::read_case(path.as_ref())?)
}
