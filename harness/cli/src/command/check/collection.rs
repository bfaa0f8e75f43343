//! Several case folders, given by path or by their parent folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_store::{has_case, has_topic};

use crate::Failure;

/// Case folders, in the order given; those in a common parent folder are sorted by name.
pub struct Collection(pub Vec<PathBuf>);

impl Collection {
    /// The case folders that `paths` name; `None` if `paths` is a single model or case.
    pub fn of(paths: &[PathBuf]) -> Result<Option<Self>, Failure> {
        match paths {
            [one] if !one.is_dir() || is_case(one) => Ok(None),
            paths => Self::listed(paths).map(Some),
        }
    }

    /// The case folders that `paths` name, each directly or as a parent folder.
    pub fn listed(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut folders = Vec::new();
        for path in paths {
            let found = cases_in(path)?;
            if found.is_empty() {
                return Err(Failure::usage(format!(
                    "no case in {}: give a case folder, or a folder of case folders",
                    path.display()
                )));
            }
            folders.extend(found);
        }
        Ok(Self(folders))
    }
}

/// Whether `path` holds a case, or a topic that has no graph.
fn is_case(path: &Path) -> bool {
    has_case(path) || has_topic(path)
}

fn cases_in(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if is_case(path) {
        return Ok(vec![path.to_owned()]);
    }
    if path.is_file() {
        return Err(Failure::usage(format!(
            "{} is a file, and tables, --record and --recorded are for folders of cases: check models one at a time, without these options",
            path.display()
        )));
    }
    let entries = fs::read_dir(path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    let mut folders: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_case(path)).collect();
    folders.sort();
    Ok(folders)
}
