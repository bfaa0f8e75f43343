//! A variant in a worker process, between which and golden errors can be planted.

use std::sync::Arc;

use twinfer_case::{Case, Culprit, EncodedCase, Observation, Task, TrustedVariant, VariantInfo, Verdict};
use twinfer_checks::{Evaluated, golden, references};
use twinfer_onnx::{Graph, PartialGraph};
use twinfer_prerequisites::skip;
use twinfer_segments::{Cutting, Subject, conclude, examine};
use twinfer_tests::executable;
use twinfer_workers::{
    Deadlines, HostContext, SparePolicy, TriageWorkers, WorkerCommand, WorkerError, WorkerPool,
};

/// A variant under test.
pub struct Bench(TriageWorkers);

/// What a case comes to.
pub struct Checked {
    /// The conclusion from its outputs alone.
    pub from_outputs: Verdict,
    /// The conclusion from its segments as well.
    pub evaluated: Evaluated,
    /// How many times the variant ran something.
    pub runs: usize,
    /// The segments that are wrong for different reasons, and whether each is as a model of its own.
    pub wrong: Vec<(Culprit, bool)>,
    /// Whether wrong segments account for the outputs.
    pub is_accounted_for: bool,
}

impl Bench {
    /// `None` if the variant does not start, unless it is golden, which loads nothing.
    pub fn start(variant: &str) -> Option<Self> {
        let variant = TrustedVariant::vouch(variant.parse().expect("a variant"));
        let library = variant.library();
        let program = executable(env!("CARGO_BIN_EXE_twinfer-under-test"));
        let command = WorkerCommand { args: vec!["worker".to_owned()], ..WorkerCommand::new(program) };
        let (host, policy) = (HostContext::start(), SparePolicy::default());
        let pool = WorkerPool::new(variant, command, Deadlines::default(), &host, policy);
        let workers = TriageWorkers::start(Arc::new(pool));
        match (workers, library) {
            (Ok(workers), _) => Some(Self(workers)),
            (Err(error), Some(library)) => {
                skip(&library, error);
                None
            }
            (Err(error), None) => panic!("{error}"),
        }
    }

    pub fn info(&self) -> &VariantInfo {
        self.0.info()
    }

    /// What the variant does with a task.
    pub fn observe(&self, task: &Task) -> Observation {
        self.0.observe_warm(task).expect("a worker answers")
    }

    /// Checks a case on the variant as `backend` runs it, and judges its segments, those of `graph`.
    pub fn check_as(&self, case: Case, graph: &PartialGraph, backend: &dyn Fn(&Task) -> Task) -> Checked {
        self.check_cutting(case, graph, backend, |_| Cutting::Always)
    }

    /// As [`check_as`](Self::check_as), cutting the graph of the case as `cutting` says.
    pub fn check_cutting(
        &self,
        case: Case,
        graph: &PartialGraph,
        backend: &dyn Fn(&Task) -> Task,
        cutting: impl Fn(&Graph) -> Cutting<'_>,
    ) -> Checked {
        let case = EncodedCase::encode(case).expect("a small case");
        let mut runs = 1;
        let observation = self.observe(&backend(&case.task));
        let references = references(&case, &golden(), self.info().description.arithmetic);
        let mut evaluated = Evaluated::new(self.info(), Arc::clone(&case), references, observation);
        let from_outputs = evaluated.judgement.verdict.clone();
        let subject = Subject {
            info: self.info(),
            graph,
            task: &case.task,
            observation: &evaluated.observation,
            is_wrong: !from_outputs.divergences().is_empty(),
            cutting: cutting(&case.case.graph),
            looked_into: 8,
        };
        let examination = examine(subject, &mut |task| {
            runs += 1;
            Ok::<_, WorkerError>(self.observe(&backend(task)))
        });
        let examination = examination.expect("a worker answers");
        conclude(&mut evaluated.judgement, self.info(), &examination);
        let wrong = examination.found.iter().chain(&examination.others);
        let wrong = wrong.map(|found| (found.culprit.clone(), found.stands_alone)).collect();
        Checked { from_outputs, evaluated, runs, wrong, is_accounted_for: examination.unaccounted.is_none() }
    }

    /// Checks a case on the variant as if it changed every graph that it is given by `change`.
    pub fn check(&self, case: Case, change: impl Fn(Graph) -> Graph) -> Checked {
        let graph = PartialGraph::from(&case.graph);
        self.check_as(case, &graph, &|task| changed(task, &change))
    }
}

/// The task with another model.
pub fn changed(task: &Task, change: impl Fn(Graph) -> Graph) -> Task {
    let graph = Graph::decode(&task.model).expect("a model of ours");
    Task { model: change(graph).encode(), ..task.clone() }
}

impl Checked {
    pub fn verdict(&self) -> &Verdict {
        &self.evaluated.judgement.verdict
    }

    pub fn culprit(&self) -> Option<&Culprit> {
        self.verdict().divergences().first()?.culprit.as_ref()
    }

    /// Whether the culprit contains the node called `name`.
    pub fn blames(&self, name: &str) -> bool {
        self.culprit().is_some_and(|culprit| culprit.nodes.iter().any(|node| node.name == name))
    }
}
