//! Says whether golden, with mutants applied, gives what a backend gave.
//!
//! A client writes frames as in docs/protocol.md to stdin. The header is a [`Question`]; the payload is an ONNX model, then the inputs
//! of the run, then its outputs. The answer to each frame is a line of JSON: one [`Answer`] per explanation, in their order.

mod frames;

use std::error::Error;

use frames::{Described, decoded, serve};
use serde::{Deserialize, Serialize};
use twinfer_golden::{
    Agreement, Arithmetic, Combination, Edit, Evaluation, Limits, Unknown, evaluate_as, evaluate_edited,
};
use twinfer_onnx::{Graph, Tensor};

/// What a backend did with one run of a model.
#[derive(Deserialize)]
struct Question {
    /// Names of mutants, of their combinations or of edits; the empty name is golden itself.
    explanations: Vec<String>,
    /// The descriptions of the inputs, in the graph's order.
    inputs: Vec<Described>,
    /// The descriptions of the outputs; `None` if the backend failed.
    outputs: Option<Vec<Described>>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    /// The output is within the bound everywhere; or the backend failed, and the mutants make the graph invalid.
    Agrees,
    /// It is, but so is what golden gives, though golden itself differs from the output: the bound is so wide that agreement says nothing.
    Vague,
    /// It is not.
    Differs,
    /// The specification leaves open what the output is.
    Open,
    /// There are no mutants of this name.
    Unknown,
}

fn main() -> Result<(), Box<dyn Error>> {
    serve(answers)
}

fn answers(question: &Question, parts: &[Vec<u8>]) -> Result<Vec<Answer>, Box<dyn Error>> {
    let described = question.inputs.iter().chain(question.outputs.iter().flatten());
    let (graph, mut inputs) = decoded(parts, described)?;
    let outputs = inputs.split_off(question.inputs.len());
    let given = question.outputs.as_ref().map(|_| &outputs[..]);
    let golden = evaluate_as(&graph, &inputs, Arithmetic::default(), &[]).ok();
    let answer = |name: &String| answer(&graph, &inputs, given, golden.as_ref(), name);
    Ok(question.explanations.iter().map(answer).collect())
}

fn answer(
    graph: &Graph,
    inputs: &[Tensor],
    outputs: Option<&[Tensor]>,
    golden: Option<&Evaluation>,
    name: &str,
) -> Answer {
    let Some(evaluation) = evaluated(graph, inputs, name) else { return Answer::Unknown };
    match (evaluation, outputs) {
        (Ok(evaluation), _) if !evaluation.unspecified.is_empty() => Answer::Open,
        (Ok(evaluation), Some(outputs)) if agree(&evaluation, outputs) => {
            let is_vague = golden.is_some_and(|golden| !agree(golden, outputs) && holds(&evaluation, golden));
            if is_vague { Answer::Vague } else { Answer::Agrees }
        }
        (Err(_), None) => Answer::Agrees,
        _ => Answer::Differs,
    }
}

/// Whether the bounds of `evaluation` hold the values of `golden`.
fn holds(evaluation: &Evaluation, golden: &Evaluation) -> bool {
    let tensors: Option<Vec<_>> = golden.outputs.iter().map(|output| output.to_tensor().ok()).collect();
    tensors.is_some_and(|tensors| agree(evaluation, &tensors))
}

/// What golden with the explanation called `name` gives; `None` if there is no such explanation.
fn evaluated(graph: &Graph, inputs: &[Tensor], name: &str) -> Option<Result<Evaluation, Unknown>> {
    let arithmetic = Arithmetic::default();
    if name.is_empty() {
        return Some(evaluate_as(graph, inputs, arithmetic, &[]));
    }
    let mutants = Combination::from_name(name).map(|combination| combination.mutants);
    let listed = mutants.map(|mutants| evaluate_as(graph, inputs, arithmetic, mutants));
    listed.or_else(|| {
        Some(evaluate_edited(graph, inputs, arithmetic, Edit::from_name(name)?, None, Limits::default()))
    })
}

fn agree(evaluation: &Evaluation, outputs: &[Tensor]) -> bool {
    let mut pairs = evaluation.outputs.iter().zip(outputs);
    evaluation.outputs.len() == outputs.len()
        && pairs.all(|(reference, output)| {
            reference.shape == output.shape
                && reference.dtype == output.dtype()
                && output
                    .to_f64()
                    .into_iter()
                    .enumerate()
                    .all(|(place, given)| !matches!(reference.compare(place, given), Agreement::Wrong(_)))
        })
}
