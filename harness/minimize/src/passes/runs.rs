use twinfer_case::Case;
use twinfer_onnx::Dim;

use super::candidates::Candidates;
use crate::{edit::select_input, fit::Baseline};

/// Each run alone, then all but one.
pub fn fewer<'a>(case: &'a Case, _: &'a Baseline) -> Candidates<'a> {
    let count = case.runs.len();
    let places = if count < 2 { 0..0 } else { 0..count };
    let alone = places.clone().map(|place| vec![case.runs[place].clone()]);
    let all_but = places.rev().map(|place| {
        let mut runs = case.runs.clone();
        runs.remove(place);
        runs
    });
    Box::new(alone.chain(all_but).map(|runs| Case { runs, ..case.clone() }))
}

/// Every input with its first sample only.
pub fn batch_to_one<'a>(case: &'a Case, _: &'a Baseline) -> Candidates<'a> {
    let mut smaller = case.clone();
    let places = 0..case.graph.inputs.len();
    let edited = places.into_iter().try_for_each(|place| {
        select_input(&mut smaller, place, 0, |extent| Some((0..extent.min(1)).collect()))
    });
    Box::new(edited.map(|()| smaller).into_iter())
}

/// All dynamic axes fixed, then each alone.
pub fn fix_axes<'a>(case: &'a Case, _: &'a Baseline) -> Candidates<'a> {
    let dims = case.graph.inputs.iter().filter_map(|input| input.shape.as_ref()).flatten();
    let mut names: Vec<_> = dims
        .filter_map(|dim| match dim {
            Dim::Symbolic(name) => Some(name.clone()),
            Dim::Fixed(_) => None,
        })
        .collect();
    names.sort();
    names.dedup();
    let all = std::iter::once_with(|| fixed(case, &|_| true));
    Box::new(all.chain(names.into_iter().map(|name| fixed(case, &|other| other == name))))
}

/// The case in which symbolic extents of the chosen names are what the first run has there.
fn fixed(case: &Case, chosen: &dyn Fn(&str) -> bool) -> Case {
    let mut case = case.clone();
    for (input, source) in case.graph.inputs.iter_mut().zip(&case.runs[0].inputs) {
        for (dim, extent) in input.shape.iter_mut().flatten().zip(source.shape()) {
            if matches!(dim, Dim::Symbolic(name) if chosen(name)) {
                *dim = Dim::Fixed(*extent);
            }
        }
    }
    case
}
