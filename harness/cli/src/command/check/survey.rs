//! A table of what every variant does with every case.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use twinfer_case::{Case, Expectation, Task, Topic, Verdict};
use twinfer_reports::{Answer, Survey, Surveyed, SurveyedCase};
use twinfer_store::{RecordedObservation, Recording, has_case};
use twinfer_targets::read_case;

use super::{Arguments, collection::Collection};
use crate::{Exit, Failure, json, output::write, subjects};

/// A case folder that was read.
struct Asked {
    folder: PathBuf,
    topic: Option<Topic>,
    /// Absent where no graph holds what the topic is about.
    case: Option<Case>,
    /// What variants did with it, at their versions.
    answers: Vec<RecordedObservation>,
}

pub fn run(collection: &Collection, arguments: &Arguments) -> Result<Exit, Failure> {
    let mut asked = collection.0.iter().map(|folder| Asked::read(folder)).collect::<Result<Vec<_>, _>>()?;
    let known = asked.iter().map(|asked| Ok(Recording::beside(&asked.folder)?.observed));
    let known = known.collect::<Result<Vec<_>, Failure>>()?;
    if arguments.recorded {
        asked.iter_mut().zip(&known).for_each(|(asked, known)| asked.answers.clone_from(known));
    } else {
        ask(&mut asked, arguments)?;
    }
    let survey = table(&asked);
    let text = survey.render(arguments.format).ok_or_else(|| {
        Failure::usage(format!(
            "a table of cases has no {} form: use terminal, json or markdown",
            arguments.format
        ))
    })?;
    write(format_args!("{text}"));
    let is_news =
        asked.iter().zip(&known).any(|(asked, known)| asked.answers.iter().any(|one| is_new(one, known)));
    Ok(if is_news { Exit::Findings } else { Exit::Conforms })
}

/// Whether an answer diverges as no recording of the same variant and version says.
fn is_new(answer: &RecordedObservation, known: &[RecordedObservation]) -> bool {
    let is_same = |one: &RecordedObservation| {
        one.variant == answer.variant && one.version == answer.version && one.verdict == answer.verdict
    };
    matches!(answer.verdict, Some(Verdict::Diverges(_))) && !known.iter().any(is_same)
}

fn ask(asked: &mut [Asked], arguments: &Arguments) -> Result<(), Failure> {
    let cases: Vec<Case> = asked.iter().filter_map(|asked| asked.case.clone()).collect();
    let subjects = subjects::start(&arguments.backends.subjects())?;
    let (all, told) = (cases.len() * subjects.infos().count(), AtomicUsize::new(0));
    let folders: Vec<&Path> =
        asked.iter().filter(|asked| asked.case.is_some()).map(|asked| asked.folder.as_path()).collect();
    // answers are kept as they come: a survey that is ended early has kept what it heard
    let kept = Mutex::new(Ok(()));
    let answers = subjects.survey(&cases, &|place, answer| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if arguments.record && kept.is_ok() {
            *kept = record(folders[place], answer);
        }
        drop(kept);
        let number = told.fetch_add(1, Ordering::Relaxed) + 1;
        if number % TOLD_EVERY == 0 || number == all {
            eprintln!("{number} of {all} answers");
        }
    })?;
    kept.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    for of_variant in answers {
        let with_case = asked.iter_mut().filter(|asked| asked.case.is_some());
        with_case.zip(of_variant).for_each(|(asked, answer)| asked.answers.push(answer));
    }
    Ok(())
}

fn record(folder: &Path, answer: &RecordedObservation) -> Result<(), Failure> {
    let mut recording = Recording::beside(folder)?;
    recording.replace(answer.clone());
    Ok(recording.write_beside(folder)?)
}

/// Answers between two lines of progress.
const TOLD_EVERY: usize = 50;

impl Asked {
    fn read(folder: &Path) -> Result<Self, Failure> {
        let topic = folder.join("topic.json");
        let topic = if topic.is_file() { Some(json::read(&topic)?) } else { None };
        let case = if has_case(folder) { Some(read_case(folder)?) } else { None };
        Ok(Self { folder: folder.to_owned(), topic, case, answers: Vec::new() })
    }

    fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

fn table(asked: &[Asked]) -> Survey {
    let who =
        |one: &RecordedObservation| Surveyed { variant: one.variant.clone(), version: one.version.clone() };
    let mut variants: Vec<Surveyed> = asked.iter().flat_map(|asked| asked.answers.iter().map(who)).collect();
    variants.sort();
    variants.dedup();
    let row = |asked: &Asked| {
        let answer_of = |surveyed: &Surveyed| {
            let answer = asked.answers.iter().find(|answer| who(answer) == *surveyed)?;
            Some(Answer { stage: answer.observation.stage, verdict: answer.verdict.clone()? })
        };
        SurveyedCase {
            name: asked.name(),
            topic: asked.topic.clone(),
            graph: asked.case.as_ref().map(|case| case.graph.to_string()),
            golden: asked.case.as_ref().map_or_else(|| "outside the scope".to_owned(), golden),
            answers: variants.iter().map(answer_of).collect(),
        }
    };
    let cases = asked.iter().map(row).collect();
    Survey::new(variants, cases)
}

/// What golden says of a case: its rule where it is invalid or open, and the shape of its first output.
fn golden(case: &Case) -> String {
    if let Expectation::Invalid(rule) = &case.expectation {
        return format!("invalid: {rule}");
    }
    let Ok(task) = Task::of(case) else { return "too large".to_owned() };
    let evaluate = |inputs: &Vec<_>| twinfer_golden::evaluate(&case.graph, inputs);
    let evaluations = task.runs.iter().map(evaluate).collect::<Result<Vec<_>, _>>();
    match evaluations {
        Err(unknown) => unknown.to_string(),
        Ok(evaluations) => {
            let open = evaluations.iter().flat_map(|evaluation| &evaluation.unspecified).next();
            let last = evaluations.last().and_then(|evaluation| evaluation.outputs.first());
            let shape = last.map(|output| format!("{:?}", output.shape)).unwrap_or_default();
            open.map_or_else(|| shape.clone(), |entry| format!("{shape}, open: {}", entry.name))
        }
    }
}
