//! Findings that nothing explains. Another model that is wrong in the same operator may have another bug, so they are recognized where they were
//! found: at the nodes that they list.

use std::{collections::BTreeSet, path::PathBuf};

use twinfer_case::{CaseRecord, Cause, Divergence, Finding};
use twinfer_reports::{Report, ReportedFinding};
use twinfer_store::{FindingsFolder, RunDirectory};

use crate::{Failure, output::note};

/// What the unexplained findings of a report are compared with.
pub struct Recognition<'a> {
    /// The records of the run.
    pub records: &'a [CaseRecord],
    /// The names of the outputs of the model.
    pub outputs: &'a [String],
    /// Where the findings of the run are.
    pub directory: &'a RunDirectory,
    /// Folders of known findings.
    pub known: &'a [PathBuf],
}

/// Where a segment is: by the names of its nodes, of which one suffices.
type Place = BTreeSet<String>;

impl Recognition<'_> {
    /// Notes in each new finding that nothing explains where the model is wrong in the cases that show it, and marks it as known if known
    /// findings with its signature list all these places. Any other finding is known by its signature alone.
    pub fn apply(&self, report: &mut Report) -> Result<(), Failure> {
        let mut known = Vec::new();
        for folder in self.known {
            known.extend(FindingsFolder::at(folder).findings()?);
        }
        let explained = self.explained(report, &known);
        let mut recognized = BTreeSet::new();
        for found in report.findings.iter_mut().filter(|found| found.new) {
            let alike: Vec<_> =
                known.iter().filter(|known| known.signature == found.finding.signature).collect();
            if is_unexplained(&found.finding) {
                let wrong = self.places(found, &explained);
                found.finding.wrong_at =
                    wrong.iter().flatten().cloned().collect::<BTreeSet<_>>().into_iter().collect();
                FindingsFolder::of_run(self.directory).update(&found.finding)?;
                let unlisted = unlisted(&wrong, &alike);
                let is_listed = !alike.is_empty() && !wrong.is_empty() && unlisted.is_empty();
                if is_listed || alike.iter().any(|known| is_same_case(known, &found.finding)) {
                    recognized.insert(found.slug.clone());
                } else if !alike.is_empty() {
                    note_resemblance(found, &unlisted);
                }
            } else if !alike.is_empty() {
                recognized.insert(found.slug.clone());
            }
        }
        report.mark_known(|found| recognized.contains(&found.slug));
        Ok(())
    }

    /// The findings that cases of the run show and that are explained: new ones and known ones.
    fn explained(&self, report: &Report, known: &[Finding]) -> Vec<Finding> {
        let is_shown = |known: &&Finding| {
            let slug = known.signature.slug();
            self.records.iter().any(|record| record.findings.contains(&slug))
        };
        let all = report.findings.iter().map(|found| &found.finding).chain(known.iter().filter(is_shown));
        all.filter(|finding| !is_unexplained(finding)).cloned().collect()
    }

    /// Where the model is wrong in the cases that show a finding, without the nodes that `explained` findings blame first: everywhere, where no
    /// segment is to blame.
    fn places(&self, found: &ReportedFinding, explained: &[Finding]) -> BTreeSet<Place> {
        let ReportedFinding { slug, finding, .. } = found;
        let backend = &finding.signature.backend;
        let records = self.records.iter().filter(|record| record.findings.contains(slug));
        let variants = records.flat_map(|record| &record.variants);
        let divergences = variants
            .filter(|record| record.variant.backend == *backend)
            .flat_map(|record| record.verdict.divergences());
        let culprits = divergences.filter(|one| one.concerns_values()).map(|one| one.culprit.as_ref());
        let places = culprits.flat_map(|culprit| match culprit {
            Some(culprit) => culprit.places().map(owned).collect(),
            None => vec![self.outputs.iter().cloned().collect()],
        });
        let of_backend = explained.iter().filter(|other| other.signature.backend == *backend);
        let elsewhere: Place = of_backend.filter_map(first_place).flatten().collect();
        places.filter(|place: &Place| place.is_disjoint(&elsewhere)).chain(first_place(finding)).collect()
    }
}

/// Where the culprit of a finding is.
fn first_place(finding: &Finding) -> Option<Place> {
    finding.divergences.first()?.culprit.as_ref()?.places().next().map(owned)
}

fn owned(place: BTreeSet<&str>) -> Place {
    place.into_iter().map(str::to_owned).collect()
}

/// Whether outputs are wrong, and nothing explains them.
fn is_unexplained(finding: &Finding) -> bool {
    matches!(finding.signature.cause, Cause::Graph(_))
        && finding.divergences.first().is_some_and(Divergence::concerns_values)
}

/// The places that none of the `known` findings lists, without those that have a smaller one in them.
fn unlisted<'p>(places: &'p BTreeSet<Place>, known: &[&Finding]) -> Vec<&'p Place> {
    let listed: BTreeSet<_> = known.iter().flat_map(|known| known.places()).collect();
    let unlisted = |place: &&Place| !place.iter().any(|name| listed.contains(name.as_str()));
    let has_smaller = |place: &Place| places.iter().any(|other| other.is_subset(place) && other != place);
    places.iter().filter(unlisted).filter(|place| !has_smaller(place)).collect()
}

/// Whether a known finding that lists no place has the case of `found`.
fn is_same_case(known: &Finding, found: &Finding) -> bool {
    known.places().is_empty() && known.case == found.case
}

/// Says where a new finding shows that resembles a known one, and how both become one.
fn note_resemblance(found: &ReportedFinding, unlisted: &[&Place]) {
    let quoted =
        |place: &&Place| place.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(" + ");
    note!(
        "{} resembles a known finding, but shows at other nodes: {}. If it is the same bug, `twinfer adopt` accepts these nodes too",
        found.slug,
        unlisted.iter().map(quoted).collect::<Vec<_>>().join(", ")
    );
}
