use std::collections::{HashMap, HashSet};

use twinfer_case::{Observation, Outcome, RunOutput, Stage, Task};
use twinfer_onnx::{DataType, PartialGraph, Tensor};

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

    /// Gives the value `name` the type that the graph states. A backend may return a value inside the graph in another type: in a wider one,
    /// which is converted, or in one that cannot be, and then the value counts as not observed.
    pub fn settle(&mut self, name: &str, dtype: DataType) {
        let settled = |tensor: &Tensor| in_type(tensor, dtype);
        let tensors: Option<Vec<_>> = self.0.iter().map(|run| run.get(name).and_then(settled)).collect();
        let Some(tensors) = tensors else {
            self.0.iter_mut().for_each(|run| drop(run.remove(name)));
            return;
        };
        for (run, tensor) in self.0.iter_mut().zip(tensors) {
            if let Some(value) = run.get_mut(name) {
                *value = tensor;
            }
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

    /// The values called `names` as the outputs of a model; `None` if a run lacks one.
    pub fn outputs(&self, names: &[String]) -> Option<Observation> {
        let run = |run: &HashMap<&str, Tensor>| {
            let outputs = names.iter().map(|name| run.get(name.as_str()).cloned()).collect::<Option<_>>()?;
            Some(RunOutput { outputs, intermediates: Vec::new() })
        };
        let runs = self.0.iter().map(run).collect::<Option<_>>()?;
        Some(Observation { runs, ..Observation::new(Stage::Execute, Outcome::Ok) })
    }
}

/// The tensor in this type, if that holds the same numbers.
fn in_type(tensor: &Tensor, dtype: DataType) -> Option<Tensor> {
    if tensor.dtype() == dtype {
        return Some(tensor.clone());
    }
    let numbers = tensor.to_f64();
    let is_float =
        matches!(dtype, DataType::Float16 | DataType::Bfloat16) && tensor.dtype() == DataType::Float;
    let converted = Tensor::from_f64(dtype, tensor.shape.clone(), &numbers).ok().filter(|_| is_float)?;
    let is_same =
        converted.to_f64().iter().zip(&numbers).all(|(one, other)| one.to_bits() == other.to_bits());
    is_same.then_some(converted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(numbers: &[f64]) -> Tensor {
        Tensor::from_f64(DataType::Float, vec![numbers.len()], numbers).unwrap()
    }

    #[test]
    fn wider_floats_with_the_same_numbers_are_converted() {
        let half = in_type(&float(&[0.5, -0.0, f64::INFINITY]), DataType::Float16).unwrap();
        assert_eq!((half.dtype(), half.to_f64()), (DataType::Float16, vec![0.5, -0.0, f64::INFINITY]));
        assert_eq!(in_type(&float(&[0.1]), DataType::Float16), None);
        assert_eq!(in_type(&float(&[1.0]), DataType::Float), Some(float(&[1.0])));
    }

    #[test]
    fn floats_are_no_integers() {
        assert_eq!(in_type(&float(&[1.0]), DataType::Int8), None);
    }
}
