use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_case::{Finding, Observation, Outcome, Sighting, Summary, VariantInfo, Veil};

use crate::{
    CampaignError,
    case_folder::{CASE, read_case_in, write_prepared},
    catalogue::{Catalogue, Identity},
    crew::Tried,
    describe::classes,
    history::write_history,
    investigation::Proof,
    journal::{read_json_in, remove_unfinished, write, write_json},
    recording::{Recording, path_beside},
};

/// The findings of a campaign and those that were known before, in order of discovery.
pub struct Findings {
    folder: PathBuf,
    entries: Vec<Entry>,
    /// How each of `entries` is recognised.
    catalogue: Catalogue,
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
    pub fn open(out: &Path, known: &[PathBuf]) -> Result<Self, CampaignError> {
        let folder = out.join("findings");
        fs::create_dir_all(&folder).map_err(CampaignError::writing(&folder))?;
        let mut findings = Self { folder, entries: Vec::new(), catalogue: Catalogue::default() };
        for folder in known {
            for stored in load_all(folder)? {
                if !findings.has(&stored.finding.signature.slug()) {
                    findings.enter(stored, false);
                }
            }
        }
        Ok(findings)
    }

    /// Adds those that an earlier part of this campaign wrote, each met as often as `summary` counts. One that no case
    /// counts belongs to a case that is not in the journal: it is removed, so that the case finds it again.
    pub fn resume(&mut self, summary: &Summary) -> Result<(), CampaignError> {
        let place = |name: &str| summary.findings.iter().position(|count| count.slug == name);
        remove_unfinished(&self.folder)?;
        for folder in case_folders(&self.folder)? {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            match place(&name) {
                Some(_) => remove_unfinished(&folder)?,
                None => remove(&folder)?,
            }
        }
        let mut ours = load_all(&self.folder)?;
        // in order of discovery
        ours.sort_by_key(|stored| place(&stored.finding.signature.slug()));
        for stored in ours {
            self.enter(stored, true);
        }
        for count in &summary.findings {
            self.count(&count.slug, count.cases);
        }
        for count in &summary.veils {
            self.count_veiled(&count.veil, count.cases);
        }
        Ok(())
    }

    fn enter(&mut self, Stored { finding, identity }: Stored, is_ours: bool) -> usize {
        self.entries.push(Entry { slug: finding.signature.slug(), finding, is_ours });
        self.catalogue.add(identity.into())
    }

    fn has(&self, slug: &str) -> bool {
        self.entries.iter().any(|entry| entry.slug == slug)
    }

    /// How findings are recognised, by place.
    pub const fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Those that this campaign added, by folder name, in order of discovery.
    pub fn ours(&self) -> impl Iterator<Item = (&str, &Finding)> {
        self.entries.iter().filter(|entry| entry.is_ours).map(|entry| (entry.slug.as_str(), &entry.finding))
    }

    /// Counts cases that show a finding.
    pub fn count(&mut self, slug: &str, cases: u64) {
        if let Some(index) = self.entries.iter().position(|entry| entry.slug == slug) {
            self.catalogue.count(index, cases);
        }
    }

    /// Counts cases that show a finding veiled; whether they are the first to show it so.
    pub fn count_veiled(&mut self, veil: &Veil, cases: u64) -> bool {
        let index = self.entries.iter().position(|entry| entry.slug == veil.finding);
        index.is_some_and(|index| self.catalogue.count_veiled(index, &veil.operators, cases))
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
    pub fn add(&mut self, proof: &Proof, info: &VariantInfo) -> Result<usize, CampaignError> {
        let finding = proof.finding.clone();
        let folder = self.folder.join(finding.signature.slug());
        write_history(&folder, &proof.history)?;
        write_finding(&folder, &finding, info, &proof.minimal)?;
        Ok(self.enter(Stored { finding, identity: proof.identity() }, true))
    }

    /// Notes that the finding at `index` was seen in another variant or version; the finding if that is news.
    pub fn sight(
        &mut self,
        index: usize,
        sighting: Sighting,
    ) -> Result<Option<(String, Finding)>, CampaignError> {
        let entry = &mut self.entries[index];
        if entry.finding.seen_in.contains(&sighting) {
            return Ok(None);
        }
        entry.finding.seen_in.push(sighting);
        if entry.is_ours {
            write_json(&self.folder.join(&entry.slug).join("finding.json"), &entry.finding)?;
        }
        Ok(Some((entry.slug.clone(), entry.finding.clone())))
    }
}

/// Writes the folder of a finding, and beside it what was observed.
pub fn write_finding(
    folder: &Path,
    finding: &Finding,
    info: &VariantInfo,
    minimal: &Tried,
) -> Result<(), CampaignError> {
    write_prepared(folder, &minimal.prepared, &minimal.references)?;
    write(&folder.join("finding.snap"), snapshot(finding, &minimal.observation).as_bytes())?;
    Recording::of(info, &minimal.observation).write_beside(folder)?;
    // last, so that a folder without it is one that was not finished
    write_json(&folder.join("finding.json"), finding)
}

/// What `cargo insta review` shows of a finding: no versions, no timings.
pub fn snapshot(finding: &Finding, observation: &Observation) -> String {
    let outcome = match &observation.outcome {
        Outcome::Ok => "ok".to_owned(),
        Outcome::Rejected(reason) => format!("rejected: {reason}"),
        Outcome::Failed(reason) => format!("failed: {reason}"),
        Outcome::Crashed(status) => format!("crashed: {status}"),
        Outcome::TimedOut => "timed out".to_owned(),
    };
    let mut lines = vec![
        "---\nsource: tests\nexpression: finding\n---".to_owned(),
        format!("signature: {}", finding.signature),
        format!("graph: {}", finding.graph),
        format!("reached: {}, {outcome}", observation.stage),
    ];
    lines.extend(finding.explanation().map(|diagnosis| format!("diagnosis: {diagnosis}")));
    lines.extend(
        finding.divergences.iter().map(|divergence| format!("{}: {}", divergence.kind, divergence.detail)),
    );
    lines.join("\n") + "\n"
}

/// The findings stored in the folders under `folder`, by name.
fn load_all(folder: &Path) -> Result<Vec<Stored>, CampaignError> {
    let folders = case_folders(folder)?;
    folders.iter().filter(|folder| folder.join("finding.json").is_file()).map(|folder| load(folder)).collect()
}

/// The folders in `folder`, by name.
fn case_folders(folder: &Path) -> Result<Vec<PathBuf>, CampaignError> {
    let entries = fs::read_dir(folder).map_err(CampaignError::file(folder))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut folders: Vec<_> = paths.filter(|path| path.is_dir() && !path.is_symlink()).collect();
    folders.sort();
    Ok(folders)
}

/// Removes the folder of a finding and what was observed of it.
fn remove(folder: &Path) -> Result<(), CampaignError> {
    let observed = path_beside(folder);
    if observed.is_file() {
        fs::remove_file(&observed).map_err(CampaignError::writing(&observed))?;
    }
    fs::remove_dir_all(folder).map_err(CampaignError::writing(folder))
}

fn load(folder: &Path) -> Result<Stored, CampaignError> {
    let finding: Finding = read_json_in(folder, "finding.json")?;
    let case = read_case_in(folder, CASE)?;
    let identity = Identity { signature: finding.signature.clone(), classes: classes(&case) };
    Ok(Stored { finding, identity })
}

#[cfg(test)]
mod tests {
    use twinfer_case::FindingCount;

    use super::*;
    use crate::adopt;

    const SLUG: &str = "ort-cpu-parse-crash-convtranspose-0c8bd0e2";

    /// How many findings a run has after it is resumed that wrote one, and whether that is still there.
    fn resumed(counts: Vec<FindingCount>) -> (u64, bool) {
        let out = tempfile::tempdir().unwrap();
        let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/cases").join(SLUG);
        let mut findings = Findings::open(out.path(), &[]).unwrap();
        let folder = adopt(&stored, &findings.folder).unwrap();
        findings.resume(&Summary { findings: counts, ..Summary::default() }).unwrap();
        assert_eq!(folder.is_dir(), path_beside(&folder).is_file());
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
