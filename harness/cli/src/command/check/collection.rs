//! Several case folders, given by path or by their parent folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_store::{has_case, has_finding, has_topic};

use crate::Failure;

/// Case folders, in the order given; those in a common parent folder are sorted by name.
#[derive(Default)]
pub struct Collection {
    /// The folders with a case.
    pub cases: Vec<PathBuf>,
    /// The folders of findings without a case, which cannot run in a table.
    pub without_case: Vec<PathBuf>,
}

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
        let mut collection = Self::default();
        for path in paths {
            let (cases, others) = cases_in(path)?;
            if cases.is_empty() {
                return Err(without_cases(path));
            }
            collection.cases.extend(cases);
            collection.without_case.extend(others.into_iter().filter(|path| has_finding(path)));
        }
        Ok(collection)
    }
}

fn without_cases(path: &Path) -> Failure {
    let model = models_in(path).next();
    let advice = model.map_or_else(
        || "give a case folder, or a folder of case folders".to_owned(),
        |model| format!("models are checked one at a time: `twinfer check {}`", model.display()),
    );
    Failure::usage(format!("no case in {}: {advice}", path.display()))
}

/// The ONNX files in a folder.
fn models_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "onnx"))
}

/// Whether `path` holds a case, or a topic that has no graph.
fn is_case(path: &Path) -> bool {
    has_case(path) || has_topic(path)
}

/// The case folders that `path` names, and what else is in it if it is no case itself.
fn cases_in(path: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Failure> {
    if is_case(path) {
        return Ok((vec![path.to_owned()], Vec::new()));
    }
    if path.is_file() {
        return Err(Failure::usage(format!(
            "{} is a file: check models one at a time. Several cases at once, --record and --recorded take folders of cases",
            path.display()
        )));
    }
    let entries = fs::read_dir(path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths.into_iter().partition(|path| is_case(path)))
}
