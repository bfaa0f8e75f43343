use std::path::Path;

use serde::de::DeserializeOwned;
use twinfer_case::{MAX_FILE_BYTES, read_file};

use crate::Failure;

/// Reads a JSON file of a finding or topic folder.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let bytes = read_file(path, MAX_FILE_BYTES).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}: give the folder of a finding", path.display()))
    })?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Failure::usage(format!("cannot parse {}: {error}", path.display())))
}
