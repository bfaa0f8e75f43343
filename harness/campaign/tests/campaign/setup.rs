//! A campaign in a folder of its own, and what it leaves there.

use std::{
    collections::BTreeMap,
    env, fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tempfile::TempDir;
use twinfer_campaign::{Campaign, CampaignError, Options};
use twinfer_case::{
    BackendName, Budget, CaseRecord, Event, Finding, Kind, RunInfo, Summary, TrustedVariant, Verdict,
};
use twinfer_store::{Journal, Records, RunDirectory, Start, read_run};
use twinfer_workers::{Deadlines, WorkerCommand};

use crate::actor::{role::Role, shared_folder};

/// A campaign that a test can configure and run.
pub struct TestCampaign {
    pub options: Options,
    /// The run directory.
    pub out: PathBuf,
    /// Whether the next run begins in it or goes on there.
    pub start: Start,
    folder: Arc<TempDir>,
}

/// The result of a campaign.
pub struct Outcome {
    pub summary: Summary,
    pub events: Vec<Event>,
    pub out: PathBuf,
    /// Keeps the folder of `out`.
    _folder: Arc<TempDir>,
}

/// What a campaign leaves and reports, without timings.
pub struct Record {
    pub journal: Vec<CaseRecord>,
    pub findings: Vec<Finding>,
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// How many divergences were investigated.
    pub investigated: usize,
    events: Vec<Event>,
}

impl Record {
    pub fn assert_same(&self, other: &Self) {
        assert_eq!(self.journal, other.journal);
        assert_eq!(self.findings, other.findings);
        assert!(self.files == other.files, "the files of the findings differ");
        assert!(self.events == other.events, "the events differ");
    }
}

/// The program of the actors; with [`twinfer_worker::WORKER_VARIABLE`] set it is a worker with the built-in backends.
const ACTOR: &str = env!("CARGO_BIN_EXE_campaign-actor");

/// The variant whose worker is an actor in `role`.
pub fn actor(role: Role) -> String {
    format!("external:{ACTOR} {role}")
}

/// A campaign of `cases` cases against an actor in `role`.
pub fn against(role: Role, cases: u64) -> TestCampaign {
    against_variant(&actor(role), cases)
}

/// A campaign of `cases` cases against `variant`.
pub fn against_variant(variant: &str, cases: u64) -> TestCampaign {
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let variant = TrustedVariant::vouch(variant.parse().unwrap());
    let environment = match variant.backend {
        BackendName::External(_) => (shared_folder::VARIABLE, folder.path().to_str().unwrap()),
        _ => (twinfer_worker::WORKER_VARIABLE, "1"),
    };
    let env = vec![(environment.0.to_owned(), environment.1.to_owned())];
    let worker = WorkerCommand { env, ..WorkerCommand::new(ACTOR) };
    let options = Options {
        budget: Budget::Cases(cases),
        jobs: NonZeroUsize::new(2).unwrap(),
        seed: 3,
        deadlines: Deadlines { execute: Duration::from_millis(1500), ..Deadlines::default() },
        ..Options::new(vec![variant], worker)
    };
    TestCampaign { options, out: folder.path().join("run"), start: Start::New, folder }
}

/// Whether the tests run with more cases, as `TWINFER_FULL=1` asks.
pub fn is_full_tier() -> bool {
    env::var_os("TWINFER_FULL").is_some()
}

impl TestCampaign {
    /// A file or folder that the test shares with its actors.
    pub fn shared(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn run(&self) -> Outcome {
        self.try_run().unwrap()
    }

    /// Leaves the run directory as if the campaign had been killed `bytes` before the end of its journal.
    pub fn cut_journal(&self, bytes: usize) {
        let path = self.out.join("journal.jsonl");
        let journal = fs::read(&path).unwrap();
        fs::write(&path, &journal[..journal.len() - bytes]).unwrap();
        let ended = self.run_info();
        let killed = serde_json::to_vec(&RunInfo { journal: None, revisited: None, ..ended }).unwrap();
        fs::write(self.out.join("run.json"), killed).unwrap();
    }

    /// Leaves the run directory as if the campaign had been killed when all cases were recorded but the one at `index`.
    pub fn lose_record(&self, index: u64) {
        let (run, earlier) = (self.run_info(), self.out.with_extension("earlier"));
        fs::rename(&self.out, &earlier).unwrap();
        let killed = RunInfo { journal: None, revisited: None, ..run.clone() };
        let mut journal = Journal::create(&RunDirectory::create(&self.out).unwrap(), &killed).unwrap();
        for record in Records::open(&earlier, &run).unwrap().map(Result::unwrap) {
            if record.index != index {
                journal.append(&record).unwrap();
            }
        }
        journal.flush().unwrap();
        fs::remove_dir(self.out.join("findings")).unwrap();
        fs::rename(earlier.join("findings"), self.out.join("findings")).unwrap();
        fs::remove_dir_all(earlier).unwrap();
    }

    /// What the run directory says about its run.
    pub fn run_info(&self) -> RunInfo {
        serde_json::from_slice(&fs::read(self.out.join("run.json")).unwrap()).unwrap()
    }

    /// Runs with `jobs` executors and `investigations` at once.
    pub fn record(&mut self, jobs: usize, investigations: usize) -> Record {
        self.options.jobs = NonZeroUsize::new(jobs).unwrap();
        self.options.investigations = NonZeroUsize::new(investigations).unwrap();
        let outcome = self.run();
        Record {
            journal: outcome.journal(),
            findings: outcome.findings(),
            files: outcome.finding_files(),
            investigated: outcome.investigated(),
            events: outcome.ordered_events(),
        }
    }

    pub fn outcome(&self, summary: Summary, events: Vec<Event>) -> Outcome {
        Outcome { summary, events, out: self.out.clone(), _folder: Arc::clone(&self.folder) }
    }

    pub fn try_run(&self) -> Result<Outcome, CampaignError> {
        self.try_run_watched(&mut |_| ())
    }

    /// Runs, and calls `watch` with each event as it comes.
    pub fn try_run_watched(&self, watch: &mut dyn FnMut(&Event)) -> Result<Outcome, CampaignError> {
        let directory = match self.start {
            Start::New => {
                // in place of an earlier run of the same test
                let _ = fs::remove_dir_all(&self.out);
                RunDirectory::create(&self.out)
            }
            Start::Resumed => RunDirectory::resume(&self.out),
        };
        let (campaign, mut events) = (Campaign::new(self.options.clone())?, Vec::new());
        let summary = campaign.run(&directory?, &mut |event| {
            watch(event);
            events.push(event.clone());
        })?;
        Ok(self.outcome(summary, events))
    }
}

impl Outcome {
    /// The cases in their order, as they were last decided, without timings.
    pub fn journal(&self) -> Vec<CaseRecord> {
        let records = Records::open(&self.out, &read_run(&self.out).unwrap()).unwrap();
        let without_timings = |record: Result<CaseRecord, _>| {
            let mut record = record.unwrap();
            record.variants.iter_mut().for_each(|variant| variant.timings.clear());
            record
        };
        records.map(without_timings).collect()
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

    /// The findings in the order in which they were recorded.
    pub fn findings(&self) -> Vec<Finding> {
        let recorded = |event: &Event| match event {
            Event::FindingRecorded { finding, .. } | Event::FindingRestored { finding, .. } => {
                Some(finding.clone())
            }
            _ => None,
        };
        self.events.iter().filter_map(recorded).collect()
    }

    /// The events that come in case order, without the records of cases, which hold timings.
    pub fn ordered_events(&self) -> Vec<Event> {
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

    fn investigated(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, Event::Investigated { .. })).count()
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
