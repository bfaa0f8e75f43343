//! The backend under test, and how its answers are held against golden.

use std::cell::{OnceCell, RefCell};

use libtest_mimic::Failed;
use twinfer_backend::{Backend, open};
use twinfer_case::{Case, Description, LayerInfo, Observation, Outcome, Task};
use twinfer_golden::{Agreement, evaluate};

/// A test: its name and its body.
pub type Test = (&'static str, fn(Subject) -> Result<(), Failed>);

/// The one backend of this process.
#[derive(Clone, Copy)]
pub struct Subject(&'static RefCell<Box<dyn Backend>>);

thread_local! {
    static BACKEND: OnceCell<Subject> = const { OnceCell::new() };
}

/// The backend of `variant`, opened on first use and kept: making a TensorRT builder takes seconds.
pub fn of(variant: &str) -> Result<Subject, Failed> {
    if let Some(subject) = BACKEND.with(|cell| cell.get().copied()) {
        return Ok(subject);
    }
    let backend = open(&variant.parse()?)?;
    let subject = Subject(Box::leak(Box::new(RefCell::new(backend))));
    Ok(BACKEND.with(|cell| *cell.get_or_init(|| subject)))
}

impl Subject {
    pub fn describe(self) -> Description {
        self.0.borrow().describe()
    }

    pub fn observe(self, case: &Case) -> Result<Observation, Failed> {
        let task = Task::of(case)?;
        Ok(self.0.borrow_mut().run(&task, &mut |_| {}))
    }

    /// The observation of a case whose every run agrees with golden.
    pub fn agrees(self, case: &Case) -> Result<Observation, Failed> {
        let observation = self.observe(case)?;
        if observation.outcome != Outcome::Ok || observation.runs.len() != case.runs.len() {
            return Err(format!(
                "{:?} in {} after {} of {} runs; log {:?}",
                observation.outcome,
                observation.stage,
                observation.runs.len(),
                case.runs.len(),
                observation.log
            )
            .into());
        }
        for (index, (run, given)) in case.runs.iter().zip(&observation.runs).enumerate() {
            let inputs: Vec<_> = run
                .inputs
                .iter()
                .map(|source| Ok(source.tensor()?.into_owned()))
                .collect::<Result<_, Failed>>()?;
            let evaluation = evaluate(&case.graph, &inputs)?;
            for (output, (reference, tensor)) in evaluation.outputs.iter().zip(&given.outputs).enumerate() {
                if reference.shape != tensor.shape {
                    return Err(
                        format!("run {index}: {:?} instead of {:?}", tensor.shape, reference.shape).into()
                    );
                }
                for (place, value) in tensor.to_f64().into_iter().enumerate() {
                    if let Agreement::Wrong(deviation) = reference.compare(place, value) {
                        let expected = reference.values[place];
                        return Err(format!(
                            "run {index}, output {output}, element {place}: {value} instead of {expected}, off by \
                             {deviation:e}"
                        )
                        .into());
                    }
                }
            }
        }
        Ok(observation)
    }
}

/// The layers that cover a node, each in one line.
pub fn layers_of<'o>(observation: &'o Observation, node: &str) -> Vec<&'o LayerInfo> {
    let layers = observation.precision.iter().flat_map(|precision| &precision.layers);
    layers.filter(|layer| layer.nodes.iter().any(|covered| covered == node)).collect()
}

/// Prints every layer in one line, so that what a release says of itself can be read in the log.
pub fn print_layers(title: &str, observation: &Observation) {
    println!("{title}:");
    for layer in observation.precision.iter().flat_map(|precision| &precision.layers) {
        println!(
            "  {} {:?} in {:?} out {:?} weights {:?} tactic {:?} at {:?} nodes {:?}",
            layer.operator,
            layer.name,
            layer.inputs,
            layer.outputs,
            layer.weights,
            layer.tactic,
            layer.placement,
            layer.nodes
        );
    }
}
