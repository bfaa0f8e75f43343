use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_case::{Case, Finding, Observation, Outcome, Sighting, Summary, VariantInfo};

use crate::{
    CampaignError,
    case_folder::write_prepared,
    catalogue::{Catalogue, Identity},
    crew::Tried,
    describe::classes,
    history::write_history,
    investigation::Proof,
    journal::{read_json, write, write_json},
    recording::Recording,
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
    /// Those under `known`, and an empty folder for new ones in `out`.
    pub fn open(out: &Path, known: Option<&Path>) -> Result<Self, CampaignError> {
        let folder = out.join("findings");
        fs::create_dir_all(&folder).map_err(CampaignError::file(&folder))?;
        let known = known.map_or_else(|| Ok(Vec::new()), load_all)?;
        let mut findings = Self { folder, entries: Vec::new(), catalogue: Catalogue::default() };
        for stored in known {
            findings.enter(stored, false);
        }
        Ok(findings)
    }

    /// Adds those that an earlier part of this campaign wrote, each met as often as `summary` counts.
    pub fn resume(&mut self, summary: &Summary) -> Result<(), CampaignError> {
        let mut ours = load_all(&self.folder)?;
        // in order of discovery; one that no case counts yet belongs to the case that comes next
        let place = |stored: &Stored| {
            let slug = stored.finding.signature.slug();
            summary.findings.iter().position(|count| count.slug == slug).unwrap_or(usize::MAX)
        };
        ours.sort_by_key(place);
        for stored in ours {
            self.enter(stored, true);
        }
        for count in &summary.findings {
            self.count(&count.slug, count.cases);
        }
        Ok(())
    }

    fn enter(&mut self, Stored { finding, identity }: Stored, is_ours: bool) -> usize {
        self.entries.push(Entry { slug: finding.signature.slug(), finding, is_ours });
        self.catalogue.add(identity.into())
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
    let entries = fs::read_dir(folder).map_err(CampaignError::file(folder))?;
    let mut folders: Vec<_> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.join("finding.json").is_file())
        .collect();
    folders.sort();
    folders.iter().map(|folder| load(folder)).collect()
}

fn load(folder: &Path) -> Result<Stored, CampaignError> {
    let finding: Finding = read_json(&folder.join("finding.json"))?;
    let case: Case = read_json(&folder.join("case.json"))?;
    let identity = Identity { signature: finding.signature.clone(), classes: classes(&case) };
    Ok(Stored { finding, identity })
}
