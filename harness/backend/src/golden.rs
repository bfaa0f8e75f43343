use twinfer_case::{
    Arithmetic, Description, Observation, Outcome, Quantization, RunOutput, Stage, Task, Variant,
};
use twinfer_onnx::{Graph, Tensor, ValueInfo, infer_shapes};

use crate::{
    Backend, OpenError,
    options::VariantOptions,
    recorder::{Log, Recorder},
};

/// The reference semantics behind the worker protocol: what a conforming backend answers.
pub struct Golden;

impl Golden {
    pub fn open(variant: &Variant) -> Result<Self, OpenError> {
        VariantOptions::of(variant).finish()?;
        Ok(Self)
    }
}

impl Backend for Golden {
    fn describe(&self) -> Description {
        Description {
            quantization: Quantization::Simulates,
            arithmetic: Arithmetic::STRICT,
            ..Description::new("golden", env!("CARGO_PKG_VERSION"), Stage::Execute)
        }
    }

    fn run(&mut self, task: &Task, progress: &mut dyn FnMut(Stage)) -> Observation {
        let mut recorder = Recorder::start(Stage::Parse, Log::default(), progress);
        let graph = match Graph::decode(&task.model) {
            Ok(graph) => graph,
            Err(error) => return recorder.finish(Outcome::rejected(error.to_string())),
        };
        recorder.enter(Stage::Execute);
        for inputs in &task.runs {
            match evaluate(&graph, inputs, &task.intermediates) {
                Ok(run) => recorder.push_run(run),
                Err(reason) => return recorder.finish(Outcome::rejected(reason)),
            }
        }
        recorder.finish(Outcome::Ok)
    }
}

fn evaluate(graph: &Graph, inputs: &[Tensor], intermediates: &[String]) -> Result<RunOutput, String> {
    let observed = observed(graph, inputs, intermediates)?;
    let evaluation = twinfer_golden::evaluate(&observed, inputs).map_err(|unknown| unknown.to_string())?;
    let tensors =
        evaluation.outputs.iter().map(|output| output.to_tensor().map_err(|error| error.to_string()));
    let outputs = tensors.collect::<Result<Vec<_>, _>>()?;
    Ok(RunOutput::named(outputs, intermediates))
}

/// The graph with `intermediates` as further outputs.
fn observed(graph: &Graph, inputs: &[Tensor], intermediates: &[String]) -> Result<Graph, String> {
    let extents: Vec<_> = inputs.iter().map(|input| input.shape.clone()).collect();
    let shapes = infer_shapes(graph, &extents).map_err(|violation| violation.to_string())?;
    let mut observed = graph.clone();
    for name in intermediates {
        let found = shapes.get(name).ok_or_else(|| format!("there is no value {name:?}"))?;
        observed.outputs.push(ValueInfo { name: name.clone(), dtype: found.dtype, shape: None });
    }
    Ok(observed)
}
