//! The contents of a reproduction.

use std::path::Path;

use twinfer_case::{Case, Finding, Task, Topic};
use twinfer_store::{RecordedObservation, Recording, read_finding, read_topic};
use twinfer_targets::read_case;

use crate::{Failure, backends::Backends, targets};

/// The contents of a reproduction.
pub struct Reproduction {
    pub case: Case,
    pub task: Task,
    pub finding: Option<Finding>,
    pub topic: Option<Topic>,
    pub observations: Vec<RecordedObservation>,
}

impl Reproduction {
    /// Reads the finding or case in `folder`, with the observations of `backends` or those stored beside it.
    pub fn of(folder: &Path, backends: Option<&Backends>) -> Result<Self, Failure> {
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

/// The file of an input's bytes, named by position because an input's name may be any text.
pub fn raw_name(run: usize, index: usize) -> String {
    format!("raw/run_{run}_input_{index}.bin")
}
