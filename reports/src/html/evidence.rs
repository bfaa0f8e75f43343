//! What the folder of a run holds of a finding: its graph, its values and its files.

use std::{
    cell::Cell,
    path::{Component, Path, PathBuf},
};

use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{PartialGraph, Tensor};
use twinfer_store::{
    MODEL, Recording, files_of_finding, findings_of, has_case, read_case, read_model, read_output,
};

use super::{
    comparison::{Comparison, MAX_ELEMENTS},
    picture::Picture,
};

/// The most elements of all tensors of a page; 1,000 findings with 20 elements each are drawn whole.
const ELEMENTS_OF_PAGE: usize = 20_000;
/// The most outputs of a finding that are drawn.
const MAX_OUTPUTS: usize = 4;
/// The most outputs of a run that are looked at.
const MAX_OUTPUTS_OF_RUN: usize = 16;
/// The most runs of a case that are looked at.
const MAX_RUNS: usize = 16;

/// The folder of a run, as it is read, as commands name it, and as the page links to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    /// The path from which it is read and that commands name.
    pub path: PathBuf,
    /// The path from the folder of the page; empty if the page lies in the run's folder.
    pub from_page: PathBuf,
}

impl RunFolder {
    /// The folder of the run in `path`, for a page that lies in it.
    pub fn around_page(path: &Path) -> Self {
        Self { path: path.to_owned(), from_page: PathBuf::new() }
    }

    /// The folder of a finding; `None` if the name leads elsewhere.
    pub fn finding(&self, slug: &str) -> Option<PathBuf> {
        let mut parts = Path::new(slug).components();
        let is_name = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        is_name.then(|| findings_of(&self.path).join(slug))
    }
}

/// What the page may still draw.
#[derive(Debug)]
pub struct Budget {
    elements: Cell<usize>,
}

impl Budget {
    /// What a whole page may draw.
    pub const fn of_page() -> Self {
        Self { elements: Cell::new(ELEMENTS_OF_PAGE) }
    }

    /// Takes the elements of a comparison away.
    fn spend(&self, elements: usize) {
        self.elements.set(self.elements.get().saturating_sub(elements));
    }
}

/// What is stored of a finding. Files that are missing or cannot be read are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The graph of its model.
    pub picture: Option<Picture>,
    /// The outputs that differ, or the first if none does.
    pub comparisons: Vec<Comparison>,
    /// Its files, as paths from the folder of all findings.
    pub files: Vec<PathBuf>,
}

impl Evidence {
    /// Reads what is stored of the finding in `folder`.
    pub fn read(folder: &Path, budget: &Budget) -> Self {
        let case = if has_case(folder) { read_case(folder).ok() } else { None };
        Self {
            picture: case.as_ref().map(picture).or_else(|| picture_of_model(folder)),
            comparisons: comparisons(folder, case.as_ref(), budget),
            files: files_of_finding(folder),
        }
    }
}

fn picture(case: &Case) -> Picture {
    let inputs = case.runs.first().into_iter().flat_map(|run| &run.inputs).map(TensorSource::shape);
    Picture::of_graph(&case.graph, &inputs.map(<[usize]>::to_vec).collect::<Vec<_>>())
}

fn picture_of_model(folder: &Path) -> Option<Picture> {
    let bytes = read_model(&folder.join(MODEL)).ok()?;
    PartialGraph::decode(&bytes).ok().map(|graph| Picture::of_model(&graph))
}

/// The outputs that differ, of all runs; the first output if none does.
fn comparisons(folder: &Path, case: Option<&Case>, budget: &Budget) -> Vec<Comparison> {
    let recorded =
        Recording::read_beside(folder).ok().and_then(|recording| recording.observed.into_iter().next());
    let given = recorded.map(|one| one.observation.runs).unwrap_or_default();
    if given.is_empty() {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (run, output) in given.iter().enumerate().take(MAX_RUNS) {
        for index in 0..MAX_OUTPUTS_OF_RUN {
            // one tensor at a time: they may be large
            let expected = read_output(folder, run, index).ok().flatten();
            let actual = output.outputs.get(index);
            if expected.is_none() && actual.is_none() {
                break;
            }
            all.extend(compare(name(case, index, run, given.len()), expected.as_ref(), actual, budget));
        }
    }
    let any = all.iter().any(Comparison::differs);
    let mut wanted: Vec<_> = all.into_iter().filter(|one| !any || one.differs()).collect();
    wanted.truncate(if any { MAX_OUTPUTS } else { 1 });
    budget.spend(wanted.iter().map(|one| one.shown.len()).sum());
    wanted
}

fn compare(
    name: String,
    expected: Option<&Tensor>,
    actual: Option<&Tensor>,
    budget: &Budget,
) -> Option<Comparison> {
    Comparison::new(name, expected, actual, budget.elements.get().min(MAX_ELEMENTS))
}

/// Such as `Output y of run 2 of 3`.
fn name(case: Option<&Case>, index: usize, run: usize, runs: usize) -> String {
    let named = case.and_then(|case| case.graph.outputs.get(index)).map(|output| output.name.clone());
    let output = named.unwrap_or_else(|| index.to_string());
    if runs > 1 {
        format!("Output {output} of run {} of {runs}", run + 1)
    } else {
        format!("Output {output}")
    }
}
