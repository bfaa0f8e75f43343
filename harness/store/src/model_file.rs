//! The file of a model, and the files that have elements of its initializers.

use std::{fs, io, path::Path};

use twinfer_case::{MAX_FILE_BYTES, read_file, read_part_in};
use twinfer_onnx::with_external_data;

use crate::StoreError;

/// The bytes of the ONNX model at `path`, with the elements inside that its initializers have in other files. Those must be in the folder of
/// the model, or of the file that it is a link to, and the whole must not be larger than a model may be.
pub fn read_model(path: &Path) -> Result<Vec<u8>, StoreError> {
    let model = read_file(path, MAX_FILE_BYTES).map_err(StoreError::file(path))?;
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let linked = fs::canonicalize(path).map_err(StoreError::file(path))?;
    let allowed = [folder, linked.parent().unwrap_or(folder)];
    let mut left = MAX_FILE_BYTES.saturating_sub(model.len() as u64);
    let whole = with_external_data(&model, |data| {
        let file = folder.join(&data.location);
        let elements = read_part_in(folder, &data.location, &allowed, (data.offset, data.length), left)
            .map_err(|error| StoreError::ExternalData { path: file, source: explained(error) })?;
        left -= elements.len() as u64;
        Ok::<_, StoreError>(elements)
    })?;
    Ok(whole.into_owned())
}

fn explained(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::FileTooLarge => io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("with its initializers, the model is larger than {MAX_FILE_BYTES} bytes"),
        ),
        _ => error,
    }
}
