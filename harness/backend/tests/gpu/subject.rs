//! The backend under test, and how its answers are compared with golden's.

use std::error::Error;

use twinfer_backend::{Backend, open};
use twinfer_case::{Case, Description, LayerInfo, Observation, Outcome, Task};
use twinfer_golden::{Agreement, evaluate};

/// The one backend of this process.
pub struct Subject(Box<dyn Backend>);

impl Subject {
    pub fn open(variant: &str) -> Result<Self, Box<dyn Error>> {
        Ok(Self(open(&variant.parse()?)?))
    }

    pub fn describe(&self) -> Description {
        self.0.describe()
    }

    pub fn observe(&mut self, case: &Case) -> Result<Observation, Box<dyn Error>> {
        let task = Task::of(case)?;
        Ok(self.0.run(&task, &mut |_| {}))
    }

    /// The observation of a case whose every run agrees with golden.
    pub fn agrees(&mut self, case: &Case) -> Result<Observation, Box<dyn Error>> {
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
                .collect::<Result<_, Box<dyn Error>>>()?;
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

/// The layers that cover a node.
pub fn layers_of<'o>(observation: &'o Observation, node: &str) -> Vec<&'o LayerInfo> {
    let layers = observation.precision.iter().flat_map(|precision| &precision.layers);
    layers.filter(|layer| layer.nodes.iter().any(|covered| covered == node)).collect()
}

/// Prints every layer in one line, so that the log shows what a release reports.
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
