use std::{fs, path::Path};

use crate::Failure;

/// An error if the folder that `--out` names has something in it.
pub fn is_free(out: &Path) -> Result<(), Failure> {
    is_free_but_for(out, &|_| false)
}

/// An error if the folder that `--out` names has something in it besides what the command itself writes there, which `is_own` knows by
/// its path.
pub fn is_free_but_for(out: &Path, is_own: &dyn Fn(&Path) -> bool) -> Result<(), Failure> {
    let mut entries = fs::read_dir(out).into_iter().flatten();
    if entries.all(|entry| entry.is_ok_and(|entry| is_own(&entry.path()))) {
        return Ok(());
    }
    Err(Failure::usage(format!("--out {} is not empty: give another folder", out.display())))
}
