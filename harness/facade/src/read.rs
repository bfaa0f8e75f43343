use std::path::Path;

use twinfer_case::Case;

use crate::Error;

/// Reads a case: an ONNX model, whose initializers may be in other files of the same folder, with inputs as [`Case::from_onnx`] generates them; a
/// case folder, such as that of a finding; or a `case.json`.
///
/// An error if there is none at `path`, or if it has an operator that golden does not know.
pub fn read_case(path: impl AsRef<Path>) -> Result<Case, Error> {
    Ok(twinfer_targets::read_case(path.as_ref())?)
}
