use std::{fs, path::Path};

use crate::Failure;

/// An error if the folder that `--out` names has something in it.
pub fn is_free(out: &Path) -> Result<(), Failure> {
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::usage(format!("--out {} is not empty: give another folder", out.display())));
    }
    Ok(())
}
