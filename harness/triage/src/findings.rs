use std::{collections::BTreeMap, path::PathBuf};

use twinfer_case::{Case, Finding, Libraries, Mask, Sighting, Summary};
use twinfer_checks::expected_outputs;
use twinfer_store::{FindingsFolder, Observed, RunDirectory, StoredFinding, write_finding, write_preceding};

use crate::{
    TriageError,
    catalog::Catalog,
    identity::Identity,
    triage_result::{Confirmed, Reduced},
};

/// The findings of a campaign and those that were known before, in order of discovery.
pub struct Findings {
    folder: FindingsFolder,
    /// What the variants of the campaign load.
    libraries: Libraries,
    entries: Vec<Entry>,
    /// How each of `entries` is recognized.
    catalog: Catalog,
    /// How many recorded cases show a finding of this campaign that was lost, by folder name. It counts them once it is found again.
    lost: BTreeMap<String, u64>,
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
    /// The findings in the `known` folders, without duplicates; new ones will be written to the run in `directory`, whose variants
    /// load `libraries`.
    pub fn open(
        directory: &RunDirectory,
        known: &[PathBuf],
        libraries: Libraries,
    ) -> Result<Self, TriageError> {
        let mut findings = Self {
            folder: FindingsFolder::of_run(directory),
            libraries,
            entries: Vec::new(),
            catalog: Catalog::default(),
            lost: BTreeMap::new(),
        };
        for folder in known {
            for stored in FindingsFolder::at(folder).load()?.into_iter().map(Stored::of) {
                if !findings.has(&stored.finding.signature.slug()) {
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

    /// Adds the findings that an earlier part of this campaign wrote and that are whole, each with the number of cases that `summary` counts. A
    /// finding that no case counts belongs to a case that is not in the journal: that case leads to it again. What is unfinished is
    /// removed: its cases are investigated again.
    pub fn resume(&mut self, summary: &Summary) -> Result<(), TriageError> {
        let place = |name: &str| summary.findings.iter().position(|count| count.slug == name);
        self.folder.resume(summary)?;
        let mut ours: Vec<_> = self.folder.load_named()?.into_iter().map(Stored::of).collect();
        // in order of discovery
        ours.sort_by_key(|stored| place(&stored.finding.signature.slug()));
        let (unfinished, ours): (Vec<_>, Vec<_>) =
            ours.into_iter().partition(|stored| stored.finding.is_unfinished());
        for stored in ours {
            self.enter(stored, true);
        }
        let unfinished: Vec<_> =
            unfinished.into_iter().map(|stored| stored.finding.signature.slug()).collect();
        for slug in &unfinished {
            self.folder.remove(slug)?;
        }
        for count in summary.findings.iter().filter(|count| !unfinished.contains(&count.slug)) {
            if self.has(&count.slug) {
                self.count(&count.slug, count.cases);
            } else {
                // all but the case that leads to it again
                self.lost.insert(count.slug.clone(), count.cases.saturating_sub(1));
            }
        }
        for count in &summary.masks {
            self.count_masked(&count.mask, count.cases);
        }
        Ok(())
    }

    fn enter(&mut self, Stored { finding, identity }: Stored, is_ours: bool) -> usize {
        self.entries.push(Entry { slug: finding.signature.slug(), finding, is_ours });
        self.catalog.add(identity.into())
    }

    fn has(&self, slug: &str) -> bool {
        self.entries.iter().any(|entry| entry.slug == slug)
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
        if let Some(index) = self.entries.iter().position(|entry| entry.slug == slug) {
            self.catalog.count(index, cases);
        }
    }

    /// Counts cases that show a finding masked; true if they are the first of their guise.
    pub fn count_masked(&mut self, mask: &Mask, cases: u64) -> bool {
        let index = self.entries.iter().position(|entry| entry.slug == mask.finding);
        index.is_some_and(|index| self.catalog.count_masked(index, &mask.guise, cases))
    }

    /// Notes that what a suspect was reduced to shows the finding at `index`.
    pub fn learn(&mut self, index: usize, reduced: &Reduced) {
        self.catalog.learn(index, reduced);
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
        let (finding, info) = (confirmed.finding.clone(), &confirmed.info);
        let minimal = &confirmed.minimal;
        let outputs = expected_outputs(&minimal.references)?;
        let library = self.libraries.of(&info.variant);
        let observed = Observed { info, library, observation: &minimal.observation };
        self.folder.add(&finding, |folder| {
            write_preceding(folder, &confirmed.history)?;
            write_finding(folder, &finding, (&minimal.encoded, &outputs), observed)
        })?;
        let added = self.enter(Stored { finding, identity: confirmed.identity() }, true);
        let slug = self.slug(added);
        let earlier = self.lost.remove(&slug).unwrap_or(0);
        self.count(&slug, earlier);
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
    use twinfer_case::FindingCount;

    use std::{fs, path::Path};

    use super::*;
    use twinfer_store::adopt;

    const SLUG: &str = "ort-cpu-parse-crash-convtranspose-0c8bd0e2";

    fn observed(folder: &Path) -> PathBuf {
        folder.with_extension("observed.json")
    }

    /// After a run that wrote one finding was resumed: the number of its findings.
    fn resumed(counts: Vec<FindingCount>) -> u64 {
        let out = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(out.path()).unwrap();
        let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/cases").join(SLUG);
        let mut findings = Findings::open(&directory, &[], Libraries::default()).unwrap();
        fs::create_dir(findings.folder.path()).unwrap();
        let folder = adopt(&stored, findings.folder.path()).unwrap();
        findings.resume(&Summary { findings: counts, ..Summary::default() }).unwrap();
        assert!(folder.is_dir() && observed(&folder).is_file(), "resuming removed a folder");
        findings.new_findings()
    }

    #[test]
    fn findings_that_the_journal_counts_are_taken_up() {
        assert_eq!(resumed(vec![FindingCount { slug: SLUG.to_owned(), cases: 1 }]), 1);
    }

    #[test]
    fn findings_that_the_journal_lacks_are_left_alone() {
        assert_eq!(resumed(Vec::new()), 0);
    }
}
