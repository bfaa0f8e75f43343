use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use twinfer_case::{Case, Finding, FindingCount, Libraries, Mask, MaskCount, ReducedCase, Sighting, Summary};
use twinfer_checks::expected_outputs;
use twinfer_store::{FindingsFolder, Observed, RunDirectory, StoredFinding, write_finding, write_preceding};

use crate::{
    TriageError, catalog::Catalog, identity::Identity, matching::Matching, minimal_case::MinimalCase,
    triage_result::Confirmed,
};

/// The findings of a campaign and those that were known before, in order of discovery.
pub struct Findings {
    folder: FindingsFolder,
    /// What the variants of the campaign load.
    libraries: Libraries,
    entries: Vec<Entry>,
    /// How each of `entries` is recognized.
    catalog: Catalog,
    /// What is recorded of the findings of this campaign that were lost, by folder name. It counts once they are found again.
    lost: BTreeMap<String, Lost>,
}

/// What a journal says of a finding that is not on disk.
#[derive(Default)]
struct Lost {
    /// Cases that show it, without those that are decided again.
    cases: u64,
    /// Cases that show it masked.
    masks: Vec<MaskCount>,
    /// What was reduced to it.
    minimal: Vec<MinimalCase>,
}

struct Entry {
    /// The name of the finding's folder.
    slug: String,
    finding: Finding,
    /// Whether this campaign found it; a finding of an earlier campaign is not written again.
    is_ours: bool,
}

/// A finding that was read from its folder.
struct Stored {
    finding: Finding,
    identity: Identity,
}

impl Findings {
    /// The findings in the `known` folders that are recognized, without duplicates; new ones will be written to the run in `directory`, whose
    /// variants load `libraries`.
    pub fn open(
        directory: &RunDirectory,
        known: &[PathBuf],
        matching: Matching,
        libraries: Libraries,
    ) -> Result<Self, TriageError> {
        let mut findings = Self {
            folder: FindingsFolder::of_run(directory),
            libraries,
            entries: Vec::new(),
            catalog: Catalog::new(matching),
            lost: BTreeMap::new(),
        };
        for folder in known {
            for stored in FindingsFolder::at(folder).load()?.into_iter().map(Stored::of) {
                let is_recognized = matching == Matching::Similar || stored.identity.is_told_apart();
                if is_recognized && !findings.has(&stored.finding.signature.slug()) {
                    findings.enter(stored, false);
                }
            }
        }
        Ok(findings)
    }

    /// What is on disk of the finding in the folder named `slug`; a finding that was known before is whole.
    pub fn stored(&self, slug: &str) -> StoredFinding {
        if self.has(slug) { StoredFinding::Whole } else { self.folder.stored(slug) }
    }

    /// Adds the findings that an earlier part of this campaign wrote and that are whole, each with the number of cases that `settled` counts
    /// and what those were `reduced` to. A finding that no settled case shows belongs to a case that is not in the journal or that is decided
    /// again: that case leads to it. What is unfinished of the findings called `named` is removed: its cases are investigated again.
    pub fn resume(
        &mut self,
        named: BTreeSet<String>,
        settled: &Summary,
        reduced: &BTreeSet<ReducedCase>,
    ) -> Result<(), TriageError> {
        self.folder.resume(named)?;
        let place = |name: &str| settled.findings.iter().position(|count| count.slug == name);
        let mut whole = Vec::new();
        for stored in self.folder.load_named()?.into_iter().map(Stored::of) {
            let slug = stored.finding.signature.slug();
            if stored.finding.is_unfinished() {
                self.folder.remove(&slug)?;
            } else if let Some(place) = place(&slug) {
                whole.push((place, stored));
            }
        }
        // in order of discovery
        whole.sort_by_key(|(place, _)| *place);
        for (_, stored) in whole {
            self.enter(stored, true);
        }
        for FindingCount { slug, cases } in &settled.findings {
            if self.has(slug) {
                self.count(slug, *cases);
            } else {
                self.lost.insert(slug.clone(), Lost { cases: *cases, ..Lost::default() });
            }
        }
        for count in &settled.masks {
            match self.lost.get_mut(&count.mask.finding) {
                Some(lost) => lost.masks.push(count.clone()),
                None => drop(self.count_masked(&count.mask, count.cases)),
            }
        }
        for ReducedCase { finding, minimal } in reduced {
            let minimal = MinimalCase::with_hash(*minimal);
            match (self.place(finding), self.lost.get_mut(finding)) {
                (Some(index), _) => self.learn(index, minimal),
                (None, Some(lost)) => lost.minimal.push(minimal),
                // a case that is decided again leads to it
                (None, None) => {}
            }
        }
        Ok(())
    }

    fn enter(&mut self, Stored { finding, identity }: Stored, is_ours: bool) -> usize {
        self.entries.push(Entry { slug: finding.signature.slug(), finding, is_ours });
        self.catalog.add(identity.into())
    }

    fn has(&self, slug: &str) -> bool {
        self.place(slug).is_some()
    }

    fn place(&self, slug: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.slug == slug)
    }

    /// How the findings are recognized, at the same places.
    pub const fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The findings that this campaign added with their folder names, in order of discovery.
    pub fn ours(&self) -> impl Iterator<Item = (&str, &Finding)> {
        self.entries.iter().filter(|entry| entry.is_ours).map(|entry| (entry.slug.as_str(), &entry.finding))
    }

    /// Counts cases that show the finding in the folder named `slug`.
    pub fn count(&mut self, slug: &str, cases: u64) {
        if let Some(index) = self.place(slug) {
            self.catalog.count(index, cases);
        }
    }

    /// Counts cases that show a finding masked; true if they are the first of their guise.
    pub fn count_masked(&mut self, mask: &Mask, cases: u64) -> bool {
        self.place(&mask.finding).is_some_and(|index| self.catalog.count_masked(index, &mask.guise, cases))
    }

    /// Notes that what a suspect was reduced to shows the finding at `index`.
    pub fn learn(&mut self, index: usize, minimal: MinimalCase) {
        self.catalog.learn(index, minimal);
    }

    /// How many findings this campaign added.
    pub fn new_findings(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.is_ours).count() as u64
    }

    /// The folder name of the finding at `index`.
    pub fn slug(&self, index: usize) -> String {
        self.entries[index].slug.clone()
    }

    /// Adds a finding, writes its folder, and returns its place.
    pub fn add(&mut self, confirmed: &Confirmed) -> Result<usize, TriageError> {
        let (mut finding, info) = (confirmed.finding.clone(), &confirmed.info);
        for sighting in self.folder.earlier_sightings(&finding) {
            finding.add_sighting(sighting);
        }
        let minimal = &confirmed.minimal;
        let outputs = expected_outputs(&minimal.references)?;
        let library = self.libraries.of(&info.variant);
        let observed = Observed { info, library, observation: &minimal.observation };
        self.folder.add(&finding, |folder| {
            write_preceding(folder, &confirmed.history)?;
            write_finding(folder, &finding, (&minimal.encoded, &outputs), observed)
        })?;
        let added = self.enter(Stored { finding, identity: confirmed.identity() }, true);
        if let Some(lost) = self.lost.remove(&self.entries[added].slug) {
            self.catalog.count(added, lost.cases);
            for MaskCount { mask, cases } in &lost.masks {
                self.count_masked(mask, *cases);
            }
            lost.minimal.into_iter().for_each(|minimal| self.learn(added, minimal));
        }
        Ok(added)
    }

    /// Records that the finding at `index` was seen in a variant and version; the finding with its folder name if it had not
    /// been seen there before.
    pub fn record_sighting(
        &mut self,
        index: usize,
        sighting: Sighting,
    ) -> Result<Option<(String, Finding)>, TriageError> {
        let entry = &mut self.entries[index];
        if !entry.finding.add_sighting(sighting) {
            return Ok(None);
        }
        if entry.is_ours {
            self.folder.update(&entry.finding)?;
        }
        Ok(Some((entry.slug.clone(), entry.finding.clone())))
    }
}

impl Stored {
    fn of((finding, case): (Finding, Case)) -> Self {
        let identity = Identity::of(&finding, &case);
        Self { finding, identity }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use twinfer_case::CaseHash;
    use twinfer_store::adopt;

    use super::*;

    const SLUG: &str = "ort-cpu-parse-crash-convtranspose-0c8bd0e2";

    fn observed(folder: &Path) -> PathBuf {
        folder.with_extension("observed.json")
    }

    /// The findings after a run that wrote one finding was resumed, whose cases were reduced to these.
    fn resumed(counts: Vec<FindingCount>, reduced: &[CaseHash]) -> Findings {
        let out = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(out.path()).unwrap();
        let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/cases").join(SLUG);
        let mut findings = Findings::open(&directory, &[], Matching::Similar, Libraries::default()).unwrap();
        fs::create_dir(findings.folder.path()).unwrap();
        let folder = adopt(&stored, findings.folder.path()).unwrap();
        let summary = Summary { findings: counts, ..Summary::default() };
        let to = |minimal: &CaseHash| ReducedCase { finding: SLUG.to_owned(), minimal: *minimal };
        let named = summary.findings.iter().map(|count| count.slug.clone()).collect();
        findings.resume(named, &summary, &reduced.iter().map(to).collect()).unwrap();
        assert!(folder.is_dir() && observed(&folder).is_file(), "resuming removed a folder");
        findings
    }

    fn counted() -> Vec<FindingCount> {
        vec![FindingCount { slug: SLUG.to_owned(), cases: 1 }]
    }

    #[test]
    fn findings_that_the_journal_counts_are_taken_up() {
        assert_eq!(resumed(counted(), &[]).new_findings(), 1);
    }

    #[test]
    fn what_cases_were_reduced_to_is_recognized_again() {
        let [one, other] = ["1", "2"].map(|digit| digit.repeat(64).parse().unwrap());
        let findings = resumed(counted(), &[one]);
        let nodes = &findings.catalog.identity(0).nodes;
        let find = |minimal| findings.catalog.find_minimal(MinimalCase::with_hash(minimal), nodes);
        assert_eq!((find(one), find(other)), (Some(0), None));
    }

    #[test]
    fn findings_that_the_journal_lacks_are_left_alone() {
        assert_eq!(resumed(Vec::new(), &[]).new_findings(), 0);
    }
}
