use twinfer_case::{
    Arithmetic, Description, Observation, Outcome, Quantization, RunOutput, Stage, Task, Variant,
};
use twinfer_onnx::{Graph, Tensor};

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
            match evaluate(&graph, inputs) {
                Ok(outputs) => recorder.push_run(RunOutput { outputs, intermediates: Vec::new() }),
                Err(reason) => return recorder.finish(Outcome::rejected(reason)),
            }
        }
        recorder.finish(Outcome::Ok)
    }
}

fn evaluate(graph: &Graph, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    let evaluation = twinfer_golden::evaluate(graph, inputs).map_err(|unknown| unknown.to_string())?;
    evaluation.outputs.iter().map(|output| output.to_tensor().map_err(|error| error.to_string())).collect()
}
