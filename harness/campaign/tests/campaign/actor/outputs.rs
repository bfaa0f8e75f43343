//! What golden computes for a task, and how defects change it.

use twinfer_case::{
    Filling, MemoryKind, Observation, OutOfBoundsWrite, Outcome, OutputFilling, RunOutput, Stage, Task,
};
use twinfer_golden::Reference;
use twinfer_onnx::{Graph, Tensor};

use crate::defects::Defect;

/// The observation of a backend that computes as golden does.
pub fn evaluate(graph: &Graph, task: &Task) -> Observation {
    evaluate_with(graph, task, |output| output.to_tensor().unwrap())
}

/// The observation of a backend that errs by half of the bounds for any backend.
pub fn evaluate_roughly(graph: &Graph, task: &Task) -> Observation {
    evaluate_with(graph, task, |output| {
        let off = |(value, bound): (&f64, &f64)| if bound.is_finite() { value + bound / 2.0 } else { *value };
        let values: Vec<_> = output.values.iter().zip(&output.bound).map(off).collect();
        Tensor::from_f64(output.dtype, output.shape.clone(), &values).unwrap()
    })
}

fn evaluate_with(graph: &Graph, task: &Task, output: fn(&Reference) -> Tensor) -> Observation {
    let evaluate = |inputs: &Vec<Tensor>| -> Option<RunOutput> {
        let evaluation = twinfer_golden::evaluate(graph, inputs).ok()?;
        let outputs = evaluation.outputs.iter().map(output).collect();
        Some(RunOutput { outputs, intermediates: Vec::new() })
    };
    let runs: Option<Vec<_>> = task.runs.iter().map(evaluate).collect();
    Observation {
        stage: Stage::Execute,
        outcome: if runs.is_some() { Outcome::Ok } else { Outcome::rejected("Invalid: no") },
        inferred_shapes: None,
        runs: runs.unwrap_or_default(),
        precision: None,
        algorithms: None,
        log: Vec::new(),
        timings: Vec::new(),
        out_of_bounds: Vec::new(),
        output_filling: Some(OutputFilling::default()),
    }
}

/// Changes an observation as a backend with the defect would.
pub fn apply(defect: Defect, observation: &mut Observation) {
    match defect {
        Defect::Values => observation.runs.iter_mut().for_each(change_values),
        Defect::Shape => observation.runs.iter_mut().for_each(flatten),
        Defect::Refused(code) => {
            observation.stage = Stage::Parse;
            observation.runs.clear();
            observation.outcome = Outcome::rejected(format!("{code}: cannot import the node"));
        }
    }
}

/// Returns wrong values in each run but the first.
pub fn apply_to_later_runs(observation: &mut Observation) {
    observation.runs.iter_mut().skip(1).for_each(change_values);
}

/// Infers vectors, and after parsing fails to build a graph of one node.
pub fn misinfer(graph: &Graph, task: &Task, observation: &mut Observation) {
    observation.inferred_shapes = Some(graph.outputs.iter().map(|_| vec![1]).collect());
    if task.until == Stage::Parse {
        (observation.stage, observation.outcome) = (Stage::Parse, Outcome::Ok);
    } else if graph.nodes.len() == 1 {
        (observation.stage, observation.outcome) = (Stage::Build, Outcome::failed("buildEngine: no engine"));
    } else {
        return;
    }
    observation.runs.clear();
}

/// Changes a guard byte behind a block.
pub fn write_out_of_bounds(observation: &mut Observation) {
    let (stage, memory) = (Stage::Execute, MemoryKind::Device);
    observation.out_of_bounds.push(OutOfBoundsWrite { stage, memory, bytes: 64, offset: 64 });
}

/// Leaves the last element of every output as a buffer with this filling holds it.
pub fn leave_last_element(filling: Filling, observation: &mut Observation) {
    for tensor in observation.runs.iter_mut().flat_map(|run| &mut run.outputs) {
        let (dtype, shape) = (tensor.dtype(), tensor.shape.clone());
        let buffer = filling.outputs.unwrap_or_default().buffer(dtype, shape.clone()).unwrap().to_le_bytes();
        let mut bytes = tensor.to_le_bytes();
        let written = bytes.len().saturating_sub(dtype.size());
        bytes.splice(written.., buffer[written..].iter().copied());
        *tensor = Tensor::from_le_bytes(dtype, shape, &bytes).unwrap();
    }
}

/// Moves every output value far from where it should be.
fn change_values(run: &mut RunOutput) {
    for tensor in &mut run.outputs {
        let values: Vec<_> = tensor.to_f64().iter().map(|value| value * 2.0 + 1000.0).collect();
        *tensor = Tensor::from_f64(tensor.dtype(), tensor.shape.clone(), &values).unwrap();
    }
}

/// Turns every output into a vector.
fn flatten(run: &mut RunOutput) {
    for tensor in &mut run.outputs {
        tensor.shape = vec![tensor.len()];
    }
}
