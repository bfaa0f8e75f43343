//! A *trial* plants one bug and counts how it is diagnosed.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
    thread,
};

use twinfer_case::{Case, Kind, TrustedVariant, Verdict};
use twinfer_golden::{Combination, Mutant};
use twinfer_targets::Targets;
use twinfer_workers::{Deadlines, WorkerCommand};

use crate::bug::Bug;

const SEED: u64 = 20;

/// Cases that are tried at most for each case that is wanted.
const PATIENCE: u64 = 60;

/// A Python with the packages that the adapter imports.
pub struct Python(String);

/// How a bug was diagnosed.
#[derive(Clone, Debug)]
pub struct Trial {
    pub bug: Bug,
    /// Cases that were tried, and of those the ones whose output was compared.
    pub drawn: u64,
    pub compared: u64,
    /// Cases that the adapter refused.
    pub refused: u64,
    /// How often each answer was given where the output changed; no names where it is unexplained.
    pub answers: BTreeMap<Vec<String>, u64>,
}

impl Python {
    /// `TWINFER_PYTHON`, or `python3`, if it imports `packages`.
    pub fn with(packages: &str) -> Option<Self> {
        let python = env::var("TWINFER_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let imported =
            Command::new(&python).args(["-c", &format!("import {packages}")]).stderr(Stdio::null()).status();
        imported.is_ok_and(|status| status.success()).then_some(Self(python))
    }

    /// The names of the adapter's bugs.
    pub fn offered(&self) -> Vec<String> {
        let listed = Command::new(&self.0).arg(adapter()).arg("--list").output().expect("the adapter starts");
        let listed = String::from_utf8(listed.stdout).expect("names are text");
        listed.split_whitespace().map(str::to_owned).collect()
    }

    /// The adapter with a bug, as a variant.
    fn variant(&self, bug: &str) -> TrustedVariant {
        let command = format!("external:{} {} --bug {bug}", self.0, adapter().display());
        TrustedVariant::vouch(command.parse().expect("a command is a variant"))
    }
}

fn adapter() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/adapters/mutated_adapter.py")
}

/// Tries every bug until `wanted` cases have changed, one a core at a time.
pub fn try_all(bugs: &[Bug], wanted: u64, python: &Python) -> Vec<Trial> {
    let waiting = Mutex::new(bugs.iter().enumerate());
    let trials = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some((place, bug)) = { waiting.lock().expect("no thread panics").next() } {
            let trial = Trial::of(bug, wanted, python);
            trials.lock().expect("no thread panics").insert(place, trial);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    trials.into_inner().expect("no thread panics").into_values().collect()
}

impl Trial {
    fn of(bug: &Bug, wanted: u64, python: &Python) -> Self {
        let worker = WorkerCommand {
            keeps_workers: false,
            ..WorkerCommand::new(env::current_exe().expect("a test has a path"))
        };
        let subjects = Targets::start(&[python.variant(&bug.planted())], &worker, Deadlines::default())
            .expect("the adapter starts");
        let mut trial =
            Self { bug: bug.clone(), drawn: 0, compared: 0, refused: 0, answers: BTreeMap::new() };
        let mut drawn = bug.cases(SEED).take((PATIENCE * wanted) as usize);
        while trial.changed() < wanted {
            let cases: Vec<Case> = drawn.by_ref().take(wanted as usize).collect();
            if cases.is_empty() {
                break;
            }
            let answers = subjects.survey(&cases, &|_, _| ()).expect("the adapter answers");
            for answer in answers.into_iter().flatten() {
                if trial.changed() < wanted {
                    trial.count(&answer.verdict.expect("a survey judges"));
                }
            }
        }
        trial
    }

    fn count(&mut self, verdict: &Verdict) {
        self.drawn += 1;
        self.compared += u64::from(matches!(verdict, Verdict::Conforms | Verdict::Diverges(_)));
        let Verdict::Diverges(divergences) = verdict else { return };
        let compared = divergences.iter().find(|divergence| {
            matches!(divergence.kind, Kind::WrongValues | Kind::WrongShape | Kind::PrecisionFallback)
        });
        match compared.and_then(|divergence| divergence.diagnosis.as_ref()) {
            Some(diagnosis) => {
                let names = diagnosis.mutant_names().map(str::to_owned).collect();
                *self.answers.entry(names).or_default() += 1;
            }
            None => self.refused += 1,
        }
    }

    /// Cases whose output changed beyond its bound.
    pub fn changed(&self) -> u64 {
        self.answers.values().sum()
    }

    /// How often the answer held the truth.
    pub fn named(&self) -> u64 {
        self.answered(|names| names.iter().any(|name| self.is_true(name)))
    }

    /// How often it held nothing else.
    pub fn singled_out(&self) -> u64 {
        self.answered(|names| matches!(names, [name] if self.is_true(name)))
    }

    /// Of several mistakes at once it is true to name some, and of one that is made in two directions to name one: the rest may change
    /// nothing.
    fn is_true(&self, name: &str) -> bool {
        let made = self.bug.mutants();
        let is_made = |mutant: &Mutant| {
            made.contains(mutant) || mutant.both_ways().is_some_and(|both| made.contains(&both))
        };
        Combination::from_name(name).is_some_and(|named| named.mutants.iter().all(is_made))
    }

    /// How often there was none.
    pub fn unexplained(&self) -> u64 {
        self.answered(<[String]>::is_empty)
    }

    fn answered(&self, holds: impl Fn(&[String]) -> bool) -> u64 {
        self.answers.iter().filter(|(names, _)| holds(names)).map(|(_, count)| count).sum()
    }
}
