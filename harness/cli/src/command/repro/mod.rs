//! A folder that shows a bug to somebody who does not have twinfer.

mod files;
mod readme;

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use twinfer_case::{Case, Finding, Task, Topic};
use twinfer_configuration::Variants;
use twinfer_store::{RecordedObservation, Recording, read_finding};
use twinfer_targets::read_case;

use crate::{Exit, Failure, json, output::line, paint, subjects};

#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder of a finding or of a case
    case: PathBuf,
    /// Where to write: a folder that is empty or not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Run it on these now [default: tell what is recorded beside the case]
    #[arg(long, value_name = "A,B")]
    backends: Option<Variants>,
}

/// What there is to tell of a case.
struct Report {
    case: Case,
    task: Task,
    finding: Option<Finding>,
    topic: Option<Topic>,
    answers: Vec<RecordedObservation>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let out = &arguments.out;
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::usage(format!("{} is not empty: give another folder", out.display())));
    }
    let report = Report::of(&arguments.case, arguments.backends.as_ref())?;
    files::write(&report, out)?;
    line!("{} {}", paint::good("written to"), out.display());
    Ok(Exit::Conforms)
}

impl Report {
    fn of(folder: &Path, backends: Option<&Variants>) -> Result<Self, Failure> {
        let case = read_case(folder)?;
        let answers = match backends {
            Some(backends) => {
                let subjects = subjects::start(&backends.subjects())?;
                subjects.survey(std::slice::from_ref(&case), &|_, _| {})?.into_iter().flatten().collect()
            }
            None => Recording::beside(folder)?.observed,
        };
        if answers.is_empty() {
            return Err(Failure::usage(format!(
                "nothing is recorded beside {}: name backends to run it on with --backends",
                folder.display()
            )));
        }
        Ok(Self {
            task: Task::of(&case).map_err(Failure::usage)?,
            finding: read_finding(folder)?,
            topic: optional(&folder.join("topic.json"))?,
            case,
            answers,
        })
    }
}

fn optional<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, Failure> {
    if path.is_file() { json::read(path).map(Some) } else { Ok(None) }
}
