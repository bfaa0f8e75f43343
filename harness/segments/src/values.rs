use std::collections::{HashMap, HashSet};

use twinfer_case::{Observation, Task};
use twinfer_onnx::{PartialGraph, Tensor};

/// The values of a model that are known, run by run.
pub struct Values<'a>(Vec<HashMap<&'a str, Tensor>>);

impl<'a> Values<'a> {
    /// The inputs of every run.
    pub fn given(graph: &'a PartialGraph, task: &Task) -> Self {
        let names = || graph.inputs.iter().map(|input| input.name.as_str());
        Self(task.runs.iter().map(|inputs| names().zip(inputs.iter().cloned()).collect()).collect())
    }

    /// The inputs, and what the backend returned. `None` if it did not complete every run.
    pub fn observed(graph: &'a PartialGraph, task: &Task, observation: &'a Observation) -> Option<Self> {
        if observation.runs.len() != task.runs.len() {
            return None;
        }
        let mut values = Self::given(graph, task);
        for (values, run) in values.0.iter_mut().zip(&observation.runs) {
            if run.outputs.len() != graph.outputs.len() {
                return None;
            }
            let outputs = graph.outputs.iter().map(String::as_str).zip(&run.outputs);
            let named = run.intermediates.iter().map(|one| (one.name.as_str(), &one.tensor));
            values.extend(outputs.chain(named).map(|(name, tensor)| (name, tensor.clone())));
        }
        Some(values)
    }

    /// Adds the value `name` with a tensor for each run.
    pub fn add(&mut self, name: &'a str, tensors: Vec<Tensor>) {
        for (values, tensor) in self.0.iter_mut().zip(tensors) {
            values.insert(name, tensor);
        }
    }

    /// The names of the values that every run has.
    pub fn known(&self) -> HashSet<&'a str> {
        let Some((first, others)) = self.0.split_first() else { return HashSet::new() };
        first.keys().copied().filter(|name| others.iter().all(|run| run.contains_key(name))).collect()
    }

    /// The value `name` in every run; `None` if a run lacks it.
    pub fn of(&self, name: &str) -> Option<Vec<&Tensor>> {
        self.0.iter().map(|run| run.get(name)).collect()
    }

    pub fn runs(&self) -> usize {
        self.0.len()
    }
}
