//! Marks the findings of a checked model that are known.

use std::{collections::BTreeSet, path::PathBuf};

use twinfer_case::{CaseRecord, Finding};
use twinfer_reports::Report;
use twinfer_store::{FindingsFolder, RunDirectory};
use twinfer_triage::{Difference, Place, Recognition, Recognized};

use crate::{Failure, output::note};

/// A run with its findings.
pub struct CheckedRun<'a> {
    /// The records of the run.
    pub records: &'a [CaseRecord],
    /// The names of the outputs of the model.
    pub outputs: &'a [String],
    /// Where the findings of the run are.
    pub directory: &'a RunDirectory,
}

/// Marks the findings of a run that are in one of these folders as known, and notes in each of the others that nothing explains where the model
/// is wrong. Returns the names of those that are not `checked`, the finding whose case was run: they show at other nodes, or with a much larger error.
pub fn recognize(
    report: &mut Report,
    run: &CheckedRun<'_>,
    folders: &[PathBuf],
    checked: Option<&Finding>,
) -> Result<BTreeSet<String>, Failure> {
    let mut known = Vec::new();
    for folder in folders {
        known.extend(FindingsFolder::at(folder).findings()?);
    }
    let found: Vec<_> = report.findings.iter().map(|found| found.finding.clone()).collect();
    let recognition = Recognition::new(&found, &known, run.records, run.outputs);
    let (mut recognized, mut not_checked) = (BTreeSet::new(), BTreeSet::new());
    for found in report.findings.iter_mut().filter(|found| found.new) {
        let places = recognition.places(&found.finding);
        let nodes = if found.finding.disagreement().is_some() { "outputs" } else { "nodes" };
        match recognition.recognize(&found.finding, &places) {
            Recognized::New => {}
            Recognized::Known => _ = recognized.insert(found.slug.clone()),
            Recognized::Otherwise => note!(
                "{} has the name of a known finding, but a different explanation, a much larger error, or an error that shows under other conditions, so it counts as new. If it is the same bug, run `twinfer adopt` on it to make this known too",
                found.slug
            ),
            Recognized::Elsewhere(places) => note!(
                "{} resembles a known finding, but shows at other {nodes}: {}. If it is the same bug, run `twinfer adopt` on it to make these {nodes} known too",
                found.slug,
                quoted(&places)
            ),
            Recognized::MuchLarger(places) => note!(
                "{} resembles a known finding, but its error is much larger at these {nodes}: {}. If it is the same bug, run `twinfer adopt` on it to make errors of this size known too",
                found.slug,
                quoted(&places)
            ),
        }
        if checked.is_some_and(|checked| !recognition.is_at_places_of(&found.finding, &places, checked)) {
            not_checked.insert(found.slug.clone());
        }
        if found.finding.is_told_by_place() {
            let named = |(place, difference): (Place, Difference)| {
                place.into_iter().map(move |name| (name, difference.finite()))
            };
            found.finding.list_places(places.into_iter().flat_map(named));
            FindingsFolder::of_run(run.directory).update(&found.finding)?;
        }
    }
    report.mark_known(|found| recognized.contains(&found.slug));
    Ok(not_checked)
}

/// Such as `"conv3", "conv5" + "relu5"`.
fn quoted(places: &[Place]) -> String {
    let quoted =
        |place: &Place| place.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(" + ");
    places.iter().map(quoted).collect::<Vec<_>>().join(", ")
}
