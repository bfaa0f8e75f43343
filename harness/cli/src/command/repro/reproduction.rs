//! The contents of a reproduction.

use std::path::Path;

use twinfer_case::{Case, Divergence, Expectation, Finding, Kind, Task, Topic, Verdict};
use twinfer_golden::Reference;
use twinfer_onnx::DataType;
use twinfer_store::{RecordedObservation, Recording, read_finding, read_preceding, read_topic};
use twinfer_targets::read_case;

use super::runtime::Runtime;
use crate::{Failure, backends::Backends, output::note, targets, worker::WorkerSettings};

/// The contents of a reproduction.
pub struct Reproduction {
    pub case: Case,
    pub task: Task,
    /// Cases that must run first in the same process, oldest first.
    pub preceding: Vec<Task>,
    pub finding: Option<Finding>,
    pub topic: Option<Topic>,
    pub observations: Vec<RecordedObservation>,
}

impl Reproduction {
    /// Reads the finding or case in `folder`, with the observations of `backends` or those stored beside it.
    pub fn of(folder: &Path, backends: Option<&Backends>) -> Result<Self, Failure> {
        let case = read_case(folder)?;
        let task = Task::of(&case).map_err(Failure::usage)?;
        let stored = read_finding(folder)?;
        let is_other_case = stored.as_ref().is_some_and(|finding| finding.case != task.hash);
        if is_other_case && backends.is_none() {
            return Err(Failure::usage(format!(
                "the case in {} is not the one of its finding, so what is stored does not say what a backend does with it: name backends to run with --backends",
                folder.display()
            )));
        }
        if is_other_case {
            note!("the case is not the one of the finding beside it, so nothing of that is reported");
        }
        let finding = stored.filter(|_| !is_other_case);
        if finding.as_ref().is_some_and(|finding| finding.only_inside) {
            return Err(Failure::usage(format!(
                "{0} holds a finding that the outputs of its model do not show. To see which value inside the model is wrong, run `twinfer check {0}`",
                folder.display()
            )));
        }
        let observations = match backends {
            Some(backends) => {
                let targets = targets::start(&backends.subjects(), WorkerSettings::default())?;
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
        let preceding = read_preceding(folder)?;
        Ok(Self {
            task,
            preceding: preceding.iter().map(Task::of).collect::<Result<_, _>>().map_err(Failure::usage)?,
            finding,
            topic: read_topic(folder)?,
            case,
            observations,
        })
    }

    /// The divergences of an observation; those of the finding if the observation was stored without a verdict.
    pub fn divergences<'a>(&'a self, observed: &'a RecordedObservation) -> &'a [Divergence] {
        match (&observed.verdict, &self.finding) {
            (Some(Verdict::Diverges(divergences)), _) => divergences,
            (None, Some(finding)) => &finding.divergences,
            _ => &[],
        }
    }

    /// The reported kind; `None` if nothing diverged.
    pub fn kind(&self) -> Option<Kind> {
        let finding = self.finding.as_ref().map(|finding| finding.kind);
        finding.or_else(|| self.all_divergences().next().map(|divergence| divergence.kind))
    }

    /// The reported kind, then the kinds of what follows from it.
    pub fn kinds(&self) -> Vec<Kind> {
        let divergences: Vec<_> = match &self.finding {
            Some(finding) => finding.divergences.iter().collect(),
            None => self.all_divergences().collect(),
        };
        let mut kinds = Vec::from_iter(self.kind());
        for divergence in divergences {
            if !kinds.contains(&divergence.kind) {
                kinds.push(divergence.kind);
            }
        }
        kinds
    }

    /// The runtimes of the observations, each once; those that diverge first.
    pub fn runtimes(&self) -> Vec<Runtime> {
        let (diverging, others): (Vec<_>, Vec<_>) =
            self.observations.iter().partition(|observed| !self.divergences(observed).is_empty());
        let mut runtimes = Vec::new();
        for runtime in diverging.into_iter().chain(others).filter_map(Runtime::of) {
            if !runtimes.contains(&runtime) {
                runtimes.push(runtime);
            }
        }
        runtimes
    }

    /// The names of the nodes that were reported to run in another precision than the graph asks for.
    pub fn fallback_nodes(&self) -> Vec<&str> {
        let fallbacks: Vec<_> = self.all_divergences().filter_map(|it| it.fallback.as_ref()).collect();
        let falls_back = |op: &str| fallbacks.iter().any(|fallback| fallback.operator == op);
        let nodes = self.case.graph.nodes.iter().filter(|node| falls_back(node.op.op_type()));
        nodes.map(|node| node.name.as_str()).collect()
    }

    /// Per run the exact outputs with their error bounds; empty if ONNX forbids the graph or golden cannot compute it.
    pub fn expected(&self) -> Vec<Vec<Reference>> {
        if matches!(self.case.expectation, Expectation::Invalid(_)) {
            return Vec::new();
        }
        let evaluated = self.task.runs.iter().map(|run| twinfer_golden::evaluate(&self.case.graph, run));
        let outputs = evaluated.map(|evaluation| evaluation.map(|evaluation| evaluation.outputs));
        outputs.collect::<Result<_, _>>().unwrap_or_default()
    }

    /// Whether the graph asks for quantized operators.
    pub fn is_quantized(&self) -> bool {
        self.case.graph.nodes.iter().any(|node| node.op.op_type() == "QuantizeLinear")
    }

    /// Whether the model reads half-precision inputs.
    pub fn is_half(&self) -> bool {
        self.task.runs.iter().flatten().any(|tensor| tensor.dtype() == DataType::Float16)
    }

    fn all_divergences(&self) -> impl Iterator<Item = &Divergence> {
        self.observations.iter().flat_map(|observed| self.divergences(observed))
    }
}

/// The file of an input's bytes, named by position because an input's name may be any text.
pub fn raw_name(run: usize, index: usize) -> String {
    format!("run_{run}_input_{index}.bin")
}
