use std::{
    fs,
    path::{Path, PathBuf},
};

use twinfer_case::{
    Case, Cause, Finding, Observation, Outcome, Run, Sighting, Signature, Summary, TensorSource, VariantInfo,
};

use crate::{
    CampaignError,
    crew::Tried,
    describe::classes,
    journal::{read_json, write, write_json},
    prepared::Prepared,
    recording::Recording,
};

/// The findings of a campaign and those that were known before, in order of discovery.
pub struct Findings {
    folder: PathBuf,
    entries: Vec<Entry>,
}

/// A finding and how often it was met in this campaign.
struct Entry {
    /// Its folder name.
    slug: String,
    finding: Finding,
    /// What is left of its minimal case.
    classes: Vec<String>,
    /// Where it is stored; a finding that is known from elsewhere is not written again.
    is_ours: bool,
    met: u64,
}

impl Findings {
    /// Those under `known`, and an empty folder for new ones in `out`.
    pub fn open(out: &Path, known: Option<&Path>) -> Result<Self, CampaignError> {
        let folder = out.join("findings");
        fs::create_dir_all(&folder).map_err(CampaignError::file(&folder))?;
        let entries = known.map_or_else(|| Ok(Vec::new()), |known| load_all(known, false))?;
        Ok(Self { folder, entries })
    }

    /// Adds those that an earlier part of this campaign wrote, each met as often as `summary` counts.
    pub fn resume(&mut self, summary: &Summary) -> Result<(), CampaignError> {
        let mut ours = load_all(&self.folder, true)?;
        // in order of discovery; one that no case counts yet belongs to the case that comes next
        let place = |entry: &Entry| summary.findings.iter().position(|count| count.slug == entry.slug);
        ours.sort_by_key(|entry| place(entry).unwrap_or(usize::MAX));
        self.entries.extend(ours);
        for count in &summary.findings {
            self.count(&count.slug, count.cases);
        }
        Ok(())
    }

    /// Those that this campaign added, by folder name, in order of discovery.
    pub fn ours(&self) -> impl Iterator<Item = (&str, &Finding)> {
        self.entries.iter().filter(|entry| entry.is_ours).map(|entry| (entry.slug.as_str(), &entry.finding))
    }

    /// Counts cases that show a finding.
    pub fn count(&mut self, slug: &str, cases: u64) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.slug == slug) {
            entry.met += cases;
        }
    }

    /// Findings that this campaign added.
    pub fn new_findings(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.is_ours).count() as u64
    }

    /// The finding with the signature of a minimal case, or one whose mutants explain that case too.
    pub fn find(&self, signature: &Signature) -> Option<usize> {
        let same = self.entries.iter().position(|entry| entry.finding.signature == *signature);
        same.or_else(|| match signature.cause {
            Cause::Diagnosis(_) | Cause::Fallback { .. } => self.find_likely(signature),
            Cause::Graph(_) => None,
        })
    }

    /// The finding that a case with this provisional signature most likely shows: the same but for attributes that do
    /// not matter there, or for mutants that explain it as well.
    pub fn find_likely(&self, provisional: &Signature) -> Option<usize> {
        self.entries.iter().position(|entry| {
            let signature = &entry.finding.signature;
            let same_place = signature.backend == provisional.backend
                && signature.stage == provisional.stage
                && signature.kind == provisional.kind
                && signature.error == provisional.error;
            same_place
                && match (&signature.cause, &provisional.cause) {
                    (Cause::Graph(_), Cause::Graph(present)) => {
                        entry.classes.iter().all(|class| present.contains(class))
                    }
                    (Cause::Diagnosis(known), Cause::Diagnosis(possible)) => {
                        known.iter().all(|mutant| possible.contains(mutant))
                    }
                    (
                        Cause::Fallback { fallback: one, diagnosis: known },
                        Cause::Fallback { fallback: other, diagnosis: possible },
                    ) => {
                        one == other
                            && known.is_empty() == possible.is_empty()
                            && known.iter().all(|mutant| possible.contains(mutant))
                    }
                    _ => false,
                }
        })
    }

    /// The folder name of the finding at `index`.
    pub fn slug(&self, index: usize) -> String {
        self.entries[index].slug.clone()
    }

    /// Whether the next case of the finding at `index` is its first, second, fourth, eighth …: then it is worth a look
    /// whether something else hides behind it.
    pub fn is_due(&self, index: usize) -> bool {
        (self.entries[index].met + 1).is_power_of_two()
    }

    /// Adds a finding and writes its folder; its name.
    pub fn add(
        &mut self,
        finding: Finding,
        info: &VariantInfo,
        minimal: &Tried,
    ) -> Result<String, CampaignError> {
        let slug = finding.signature.slug();
        write_finding(&self.folder.join(&slug), &finding, info, minimal)?;
        let classes = classes(&minimal.prepared.case);
        self.entries.push(Entry { slug: slug.clone(), finding, classes, is_ours: true, met: 0 });
        Ok(slug)
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
    fs::create_dir_all(folder).map_err(CampaignError::file(folder))?;
    write_json(&folder.join("case.json"), &materialized(&minimal.prepared))?;
    write(&folder.join("model.onnx"), &minimal.prepared.task.model)?;
    write_data_sets(folder, minimal)?;
    write(&folder.join("finding.snap"), snapshot(finding, &minimal.observation).as_bytes())?;
    Recording::of(info, &minimal.observation).write_beside(folder)?;
    // last, so that a folder without it is one that was not finished
    write_json(&folder.join("finding.json"), finding)
}

/// The case with its tensors as data: what no later generator changes.
pub fn materialized(prepared: &Prepared) -> Case {
    let data = |inputs: &Vec<twinfer_onnx::Tensor>| Run {
        inputs: inputs.iter().cloned().map(TensorSource::Data).collect(),
    };
    Case { runs: prepared.task.runs.iter().map(data).collect(), ..prepared.case.clone() }
}

/// `test_data_set_<k>/input_<i>.pb` and, where golden knows them, `output_<i>.pb`: the layout of ONNX's backend tests.
fn write_data_sets(folder: &Path, minimal: &Tried) -> Result<(), CampaignError> {
    let graph = &minimal.prepared.case.graph;
    for (run, inputs) in minimal.prepared.task.runs.iter().enumerate() {
        let folder = folder.join(format!("test_data_set_{run}"));
        fs::create_dir_all(&folder).map_err(CampaignError::file(&folder))?;
        for (index, (info, tensor)) in graph.inputs.iter().zip(inputs).enumerate() {
            write(&folder.join(format!("input_{index}.pb")), &tensor.encode_proto(&info.name))?;
        }
        let Some(Ok(evaluation)) = minimal.references.get(run) else { continue };
        for (index, (info, reference)) in graph.outputs.iter().zip(&evaluation.outputs).enumerate() {
            let path = folder.join(format!("output_{index}.pb"));
            let tensor = reference.to_tensor().map_err(CampaignError::format(&path))?;
            write(&path, &tensor.encode_proto(&info.name))?;
        }
    }
    Ok(())
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
fn load_all(folder: &Path, is_ours: bool) -> Result<Vec<Entry>, CampaignError> {
    let entries = fs::read_dir(folder).map_err(CampaignError::file(folder))?;
    let mut folders: Vec<_> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.join("finding.json").is_file())
        .collect();
    folders.sort();
    folders.iter().map(|folder| load(folder, is_ours)).collect()
}

fn load(folder: &Path, is_ours: bool) -> Result<Entry, CampaignError> {
    let finding: Finding = read_json(&folder.join("finding.json"))?;
    let case: Case = read_json(&folder.join("case.json"))?;
    let slug = finding.signature.slug();
    Ok(Entry { slug, finding, classes: classes(&case), is_ours, met: 0 })
}
