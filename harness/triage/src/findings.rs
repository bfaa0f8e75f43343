use std::path::{Path, PathBuf};

use twinfer_case::{Case, Finding, Mask, Sighting, Summary, VariantInfo};
use twinfer_checks::expected_outputs;
use twinfer_store::{FindingsFolder, update_finding, write_finding, write_preceding};

use crate::{
    TriageError,
    catalog::{Catalog, Identity},
    classes::classes,
    investigation::Confirmed,
};

/// The findings of a campaign and those that were known before, in order of discovery.
pub struct Findings {
    folder: FindingsFolder,
    entries: Vec<Entry>,
    /// How each of `entries` is recognised.
    catalog: Catalog,
}

/// A finding.
struct Entry {
    /// Its folder name.
    slug: String,
    finding: Finding,
    /// Where it is stored; a finding that is known from elsewhere is not written again.
    is_ours: bool,
}

/// A finding in a folder.
struct Stored {
    finding: Finding,
    identity: Identity,
}

impl Findings {
    /// Those in the `known` folders, each once, and an empty folder for new ones in `out`.
    pub fn open(out: &Path, known: &[PathBuf]) -> Result<Self, TriageError> {
        let folder = FindingsFolder::of_run(out)?;
        let mut findings = Self { folder, entries: Vec::new(), catalog: Catalog::default() };
        for folder in known {
            for stored in load_all(&FindingsFolder::at(folder))? {
                if !findings.has(&stored.finding.signature.slug()) {
                    findings.enter(stored, false);
                }
            }
        }
        Ok(findings)
    }

    /// Adds those that an earlier part of this campaign wrote, each met as often as `summary` counts. One that no case
    /// counts belongs to a case that is not in the journal: it is removed, so that the case finds it again.
    pub fn resume(&mut self, summary: &Summary) -> Result<(), TriageError> {
        let place = |name: &str| summary.findings.iter().position(|count| count.slug == name);
        self.folder.keep(|name| place(name).is_some())?;
        let mut ours = load_all(&self.folder)?;
        // in order of discovery
        ours.sort_by_key(|stored| place(&stored.finding.signature.slug()));
        for stored in ours {
            self.enter(stored, true);
        }
        for count in &summary.findings {
            self.count(&count.slug, count.cases);
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

    /// How findings are recognised, by place.
    pub const fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Those that this campaign added, by folder name, in order of discovery.
    pub fn ours(&self) -> impl Iterator<Item = (&str, &Finding)> {
        self.entries.iter().filter(|entry| entry.is_ours).map(|entry| (entry.slug.as_str(), &entry.finding))
    }

    /// Counts cases that show a finding.
    pub fn count(&mut self, slug: &str, cases: u64) {
        if let Some(index) = self.entries.iter().position(|entry| entry.slug == slug) {
            self.catalog.count(index, cases);
        }
    }

    /// Counts cases that show a finding masked; whether they are the first to show it so.
    pub fn count_masked(&mut self, mask: &Mask, cases: u64) -> bool {
        let index = self.entries.iter().position(|entry| entry.slug == mask.finding);
        index.is_some_and(|index| self.catalog.count_masked(index, &mask.operators, cases))
    }

    /// Findings that this campaign added.
    pub fn new_findings(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.is_ours).count() as u64
    }

    /// The folder name of the finding at `index`.
    pub fn slug(&self, index: usize) -> String {
        self.entries[index].slug.clone()
    }

    /// Adds a finding and writes its folder; its place.
    pub fn add(&mut self, confirmed: &Confirmed, info: &VariantInfo) -> Result<usize, TriageError> {
        let finding = confirmed.finding.clone();
        let folder = self.folder.of(&finding.signature.slug());
        let minimal = &confirmed.minimal;
        let outputs = expected_outputs(&minimal.references)?;
        write_preceding(&folder, &confirmed.history)?;
        write_finding(&folder, &finding, (&minimal.encoded, &outputs), (info, &minimal.observation))?;
        Ok(self.enter(Stored { finding, identity: confirmed.identity() }, true))
    }

    /// Notes that the finding at `index` was seen in another variant or version; the finding if that is news.
    pub fn record_sighting(
        &mut self,
        index: usize,
        sighting: Sighting,
    ) -> Result<Option<(String, Finding)>, TriageError> {
        let entry = &mut self.entries[index];
        if entry.finding.seen_in.contains(&sighting) {
            return Ok(None);
        }
        entry.finding.seen_in.push(sighting);
        if entry.is_ours {
            update_finding(&self.folder.of(&entry.slug), &entry.finding)?;
        }
        Ok(Some((entry.slug.clone(), entry.finding.clone())))
    }
}

fn load_all(folder: &FindingsFolder) -> Result<Vec<Stored>, TriageError> {
    Ok(folder.load()?.into_iter().map(Stored::of).collect())
}

impl Stored {
    fn of((finding, case): (Finding, Case)) -> Self {
        let identity = Identity { signature: finding.signature.clone(), classes: classes(&case) };
        Self { finding, identity }
    }
}

#[cfg(test)]
mod tests {
    use twinfer_case::FindingCount;

    use super::*;
    use twinfer_store::adopt;

    const SLUG: &str = "ort-cpu-parse-crash-convtranspose-0c8bd0e2";

    fn observed(folder: &Path) -> PathBuf {
        folder.with_extension("observed.json")
    }

    /// How many findings a run has after it is resumed that wrote one, and whether that is still there.
    fn resumed(counts: Vec<FindingCount>) -> (u64, bool) {
        let out = tempfile::tempdir().unwrap();
        let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/cases").join(SLUG);
        let mut findings = Findings::open(out.path(), &[]).unwrap();
        let folder = adopt(&stored, findings.folder.path()).unwrap();
        findings.resume(&Summary { findings: counts, ..Summary::default() }).unwrap();
        assert_eq!(folder.is_dir(), observed(&folder).is_file());
        (findings.new_findings(), folder.is_dir())
    }

    #[test]
    fn a_finding_that_the_journal_counts_is_kept() {
        assert_eq!(resumed(vec![FindingCount { slug: SLUG.to_owned(), cases: 1 }]), (1, true));
    }

    #[test]
    fn a_finding_that_the_journal_does_not_reach_is_found_again() {
        assert_eq!(resumed(Vec::new()), (0, false));
    }
}
