use std::{fs, path::Path};

use serde::de::DeserializeOwned;

use crate::Failure;

/// Reads a file that this version of twinfer writes.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}: give the folder of a finding", path.display()))
    })?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("cannot understand {}: {error}", path.display())))
}
