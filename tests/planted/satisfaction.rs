//! Says whether graphs satisfy the triggers of findings.
//!
//! A client writes frames as in docs/protocol.md to stdin. The header is a [`Question`]; the payload is an ONNX model, then the inputs
//! of the run. The answer to each frame is a line of JSON: for each trigger, in their order, whether the graph satisfies it.

mod frames;

use std::error::Error;

use frames::{Described, decoded, serve};
use serde::Deserialize;
use twinfer_case::{Case, Expectation, Request, Run, TensorSource, Trigger};
use twinfer_onnx::DataType;
use twinfer_triggers::{describe, satisfies};

/// One run of a model.
#[derive(Deserialize)]
struct Question {
    /// The triggers as `finding.json` has them.
    triggers: Vec<Trigger>,
    /// The descriptions of the inputs, in the graph's order.
    inputs: Vec<Described>,
}

fn main() -> Result<(), Box<dyn Error>> {
    serve(answers)
}

fn answers(question: &Question, parts: &[Vec<u8>]) -> Result<Vec<bool>, Box<dyn Error>> {
    let (graph, inputs) = decoded(parts, question.inputs.iter())?;
    let case = Case {
        graph,
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs: inputs.into_iter().map(TensorSource::Data).collect() }],
        expectation: Expectation::Valid,
        provenance: None,
    };
    let nodes = describe(&case);
    Ok(question.triggers.iter().map(|trigger| satisfies(&nodes, trigger)).collect())
}
