//! Case folders, several at once.

use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_store::has_case;

use crate::Failure;

/// The folders of cases, in order.
pub struct Collection(pub Vec<PathBuf>);

impl Collection {
    /// What `paths` name if that is more than one thing: several cases, or folders that hold cases.
    pub fn of(paths: &[PathBuf]) -> Result<Option<Self>, Failure> {
        match paths {
            [one] if !one.is_dir() || is_case(one) => Ok(None),
            paths => Self::listed(paths).map(Some),
        }
    }

    /// The folders of cases that `paths` name.
    pub fn listed(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut folders = Vec::new();
        for path in paths {
            let found = cases_in(path)?;
            if found.is_empty() {
                return Err(Failure::usage(format!(
                    "no case in {}: give the folder of a case, or a folder of such folders",
                    path.display()
                )));
            }
            folders.extend(found);
        }
        Ok(Self(folders))
    }
}

/// A case or, without a graph, what a case would stand for.
fn is_case(path: &Path) -> bool {
    has_case(path) || path.join("topic.json").is_file()
}

fn cases_in(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if is_case(path) {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    let mut folders: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_case(path)).collect();
    folders.sort();
    Ok(folders)
}
