//! A campaign in a folder of its own, and what it left there.

use std::{
    collections::BTreeMap,
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tempfile::TempDir;
use twinfer_campaign::{Campaign, CampaignError, Options};
use twinfer_case::{Budget, CaseRecord, Event, Finding, Kind, Summary, Variant, Verdict};
use twinfer_workers::{Deadlines, WorkerCommand};

use crate::actor;

/// A campaign that is set up for a test.
pub struct Production {
    pub options: Options,
    folder: Arc<TempDir>,
}

/// What a campaign came to.
pub struct Outcome {
    pub summary: Summary,
    pub events: Vec<Event>,
    pub out: PathBuf,
    /// Goes away with the last who looks into it.
    _folder: Arc<TempDir>,
}

/// What a campaign leaves and tells, but for timings.
pub struct Record {
    pub journal: Vec<CaseRecord>,
    pub findings: Vec<Finding>,
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    told: Vec<Event>,
}

impl Record {
    pub fn assert_same(&self, other: &Self) {
        assert_eq!(self.journal, other.journal);
        assert_eq!(self.findings, other.findings);
        assert!(self.files == other.files, "the files of the findings differ");
        assert!(self.told == other.told, "the events differ");
    }
}

/// A campaign of `cases` cases against an actor in `role`.
pub fn against(role: &str, cases: u64) -> Production {
    against_variant(&actor::command(role), cases)
}

pub fn against_variant(variant: &str, cases: u64) -> Production {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let worker = WorkerCommand {
        env: vec![(twinfer_worker::WORKER_VARIABLE.to_owned(), "1".to_owned())],
        ..WorkerCommand::new(std::env::current_exe().unwrap())
    };
    // an actor is a worker of its own and must not become a built-in one
    let variant: Variant = variant.parse().unwrap();
    let external = matches!(variant.backend, twinfer_case::BackendName::External(_));
    let worker = if external { WorkerCommand { env: Vec::new(), ..worker } } else { worker };
    let options = Options {
        budget: Budget::Cases(cases),
        jobs: NonZeroUsize::new(2).unwrap(),
        seed: 3,
        deadlines: Deadlines { execute: Duration::from_millis(1500), ..Deadlines::default() },
        ..Options::new(vec![variant], worker, folder.path().join("run"))
    };
    Production { options, folder }
}

impl Production {
    pub fn run(&self) -> Outcome {
        self.try_run().unwrap()
    }

    /// Runs with `jobs` lanes and `investigations` at once.
    pub fn record(&mut self, jobs: usize, investigations: usize) -> Record {
        self.options.jobs = NonZeroUsize::new(jobs).unwrap();
        self.options.investigations = NonZeroUsize::new(investigations).unwrap();
        let outcome = self.run();
        Record {
            journal: outcome.journal(),
            findings: outcome.findings(),
            files: outcome.finding_files(),
            told: outcome.told_in_order(),
        }
    }

    pub fn outcome(&self, summary: Summary, events: Vec<Event>) -> Outcome {
        Outcome { summary, events, out: self.options.out.clone(), _folder: Arc::clone(&self.folder) }
    }

    pub fn try_run(&self) -> Result<Outcome, CampaignError> {
        let mut events = Vec::new();
        let summary = Campaign::new(self.options.clone())?.run(&mut |event| events.push(event.clone()))?;
        Ok(self.outcome(summary, events))
    }
}

impl Outcome {
    /// The journal without timings.
    pub fn journal(&self) -> Vec<CaseRecord> {
        let text = fs::read_to_string(self.out.join("journal.jsonl")).unwrap();
        let record = |line: &str| {
            let mut record: CaseRecord = serde_json::from_str(line).unwrap();
            record.variants.iter_mut().for_each(|variant| variant.timings.clear());
            record
        };
        text.lines().map(record).collect()
    }

    /// Every file of every finding, by path.
    pub fn finding_files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.out.join("findings"), &mut files);
        files
            .into_iter()
            .map(|(path, bytes)| (path.strip_prefix(&self.out).unwrap().to_owned(), bytes))
            .collect()
    }

    /// Findings in the order in which they were told.
    pub fn findings(&self) -> Vec<Finding> {
        let recorded = |event: &Event| match event {
            Event::FindingRecorded { finding, .. } => Some(finding.clone()),
            _ => None,
        };
        self.events.iter().filter_map(recorded).collect()
    }

    /// The events that come in case order, but for the records of cases, which hold timings.
    pub fn told_in_order(&self) -> Vec<Event> {
        let is_in_order = |event: &&Event| {
            matches!(
                event,
                Event::Confirming { .. }
                    | Event::NotConfirmed { .. }
                    | Event::Minimizing { .. }
                    | Event::FindingRecorded { .. }
            )
        };
        self.events.iter().filter(is_in_order).cloned().collect()
    }

    /// The kinds of all divergences in the journal.
    pub fn kinds(&self) -> Vec<Kind> {
        let verdicts = self.journal().into_iter().flat_map(|record| record.variants).map(|one| one.verdict);
        let divergences = verdicts.flat_map(|verdict| match verdict {
            Verdict::Diverges(divergences) => divergences,
            _ => Vec::new(),
        });
        divergences.map(|divergence| divergence.kind).collect()
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
}
