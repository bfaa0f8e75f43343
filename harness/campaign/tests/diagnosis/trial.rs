//! A *trial* plants one bug and counts how it is diagnosed.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
    thread,
};

use twinfer_campaign::{Deadlines, Subjects, WorkerCommand};
use twinfer_case::{Case, Kind, Verdict};
use twinfer_generators::{CaseStream, Family};
use twinfer_golden::{Explanation, Mutant, Nature};

const SEED: u64 = 20;

/// Cases that are drawn at most for each case that is wanted.
const PATIENCE: u64 = 10;

/// A Python with the packages that the adapter imports.
pub struct Python(String);

/// A bug of the adapter.
#[derive(Clone, Debug)]
pub struct Bug {
    /// Golden's name for it, or the adapter's for a stranger.
    pub name: &'static str,
    /// What it does, where golden knows it.
    pub known: Option<Explanation>,
}

/// How a bug was diagnosed.
#[derive(Clone, Debug)]
pub struct Trial {
    pub bug: Bug,
    /// Cases that were drawn, and of those the ones whose output was compared.
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
    fn variant(&self, bug: &str) -> twinfer_case::Variant {
        let command = format!("external:{} {} --bug {bug}", self.0, adapter().display());
        command.parse().expect("a command is a variant")
    }
}

fn adapter() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters/mutated_adapter.py")
}

impl Bug {
    pub fn known(explanation: Explanation) -> Self {
        Self { name: explanation.name, known: Some(explanation) }
    }

    pub fn stranger(name: &'static str) -> Self {
        Self { name, known: None }
    }

    /// As the adapter calls it.
    fn planted(&self) -> String {
        let mutants = self.known.as_ref().map(|known| known.mutants.iter().copied().map(Mutant::name));
        mutants.map_or_else(|| self.name.to_owned(), |names| names.collect::<Vec<_>>().join("+"))
    }

    /// The families whose cases it may change.
    fn families(&self) -> Vec<Family> {
        let natures = self.known.as_ref().map(|known| known.mutants.iter().map(|mutant| mutant.nature()));
        let is_of_quantization = match natures {
            Some(mut natures) => natures.any(|nature| nature == Nature::Quantization),
            None => ["scale-of-the-neighbour", "dequantized-one-step-up", "least-bit-dropped"]
                .contains(&self.name),
        };
        let families = Family::ALL.into_iter().filter(|family| {
            let is_quantized = !["conv", "deconv", "invalid"].contains(&family.name());
            *family != Family::Invalid && (is_quantized || !is_of_quantization)
        });
        families.collect()
    }
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
        let worker = WorkerCommand::new(env::current_exe().expect("a test has a path"));
        let subjects = Subjects::start(&[python.variant(&bug.planted())], &worker, Deadlines::default())
            .expect("the adapter starts");
        let mut trial =
            Self { bug: bug.clone(), drawn: 0, compared: 0, refused: 0, answers: BTreeMap::new() };
        let streams: Vec<CaseStream> = bug.families().into_iter().map(|family| family.stream(SEED)).collect();
        while !streams.is_empty() && trial.changed() < wanted && trial.drawn < PATIENCE * wanted {
            let cases: Vec<Case> = (trial.drawn..trial.drawn + wanted)
                .map(|index| streams[index as usize % streams.len()].case(index / streams.len() as u64))
                .collect();
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
                let names = diagnosis.mutants().map(str::to_owned).collect();
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

    /// Of several mistakes at once it is true to name one: the others may change nothing.
    pub fn is_true(&self, name: &str) -> bool {
        let mutants = self.bug.known.iter().flat_map(|known| known.mutants);
        self.bug.known.is_some()
            && (name == self.bug.name || mutants.map(|one| one.name()).any(|one| one == name))
    }

    /// How often there was none.
    pub fn unexplained(&self) -> u64 {
        self.answered(<[String]>::is_empty)
    }

    fn answered(&self, holds: impl Fn(&[String]) -> bool) -> u64 {
        self.answers.iter().filter(|(names, _)| holds(names)).map(|(_, count)| count).sum()
    }
}
