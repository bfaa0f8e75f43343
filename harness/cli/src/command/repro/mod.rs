//! Writes a reproduction folder that runs without twinfer.

mod files;
mod readme;

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use twinfer_case::{Case, Finding, Task, Topic};
use twinfer_configuration::Variants;
use twinfer_store::{RecordedObservation, Recording, read_finding, read_topic};
use twinfer_targets::read_case;

use crate::{Exit, Failure, output::line, paint, targets};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder of a finding or a case
    case: PathBuf,
    /// Folder to write; must be empty or absent
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Backends to run now, separated by commas [default: use the observations stored beside the case]
    #[arg(long, value_name = "A,B")]
    backends: Option<Variants>,
}

/// The contents of a reproduction.
struct Reproduction {
    case: Case,
    task: Task,
    finding: Option<Finding>,
    topic: Option<Topic>,
    observations: Vec<RecordedObservation>,
}

pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let out = &arguments.out;
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::usage(format!("--out {} is not empty: give another folder", out.display())));
    }
    let reproduction = Reproduction::of(&arguments.case, arguments.backends.as_ref())?;
    files::write(&reproduction, out)?;
    line!("{} {}", paint::good("written to"), out.display());
    Ok(Exit::Conforms)
}

impl Reproduction {
    fn of(folder: &Path, backends: Option<&Variants>) -> Result<Self, Failure> {
        let case = read_case(folder)?;
        let observations = match backends {
            Some(backends) => {
                let targets = targets::start(&backends.subjects(), None)?;
                targets.survey(std::slice::from_ref(&case), &|_, _| {})?.into_iter().flatten().collect()
            }
            None => Recording::beside_or_empty(folder)?.observed,
        };
        if observations.is_empty() {
            return Err(Failure::usage(format!(
                "no observations are stored beside {}: name backends to run with --backends",
                folder.display()
            )));
        }
        Ok(Self {
            task: Task::of(&case).map_err(Failure::usage)?,
            finding: read_finding(folder)?,
            topic: read_topic(folder).map_err(Failure::usage)?,
            case,
            observations,
        })
    }
}
