//! Says whether golden, with mutants applied, gives what a backend gave.
//!
//! A client writes frames as in docs/protocol.md to stdin. The header is a [`Question`]; the payload is an ONNX model, then the inputs
//! of the run, then its outputs. The answer to each frame is a line of JSON: one [`Answers`] per explanation, in their order.

mod frames;

use std::error::Error;

use frames::{Described, decoded, serve};
use serde::{Deserialize, Serialize};
use twinfer_case::{Case, Expectation, Request, Run, TensorSource, Trigger};
use twinfer_golden::{
    Agreement, Arithmetic, Evaluation, Hypothesis, Limits, Unknown, evaluate_as, evaluate_edited,
};
use twinfer_onnx::{DataType, Graph, Node, Tensor};
use twinfer_triggers::{concerned, describe};

/// What a backend did with one run of a model.
#[derive(Deserialize)]
struct Question {
    /// What findings say.
    explanations: Vec<Explanation>,
    /// The outputs of the nodes that the bug does not concern though they are of its operator.
    spared: Vec<String>,
    /// The descriptions of the inputs, in the graph's order.
    inputs: Vec<Described>,
    /// The descriptions of the outputs; `None` if the backend failed.
    outputs: Option<Vec<Described>>,
}

/// What a finding says is wrong, and where.
#[derive(Deserialize)]
struct Explanation {
    /// The name of a mutant, of a combination or of an edit.
    name: String,
    /// The finding's trigger as `finding.json` has it.
    trigger: Option<Trigger>,
}

/// Whether an explanation agrees with what the backend gave.
#[derive(Clone, Copy, Serialize)]
struct Answers {
    /// If it applies to the nodes that satisfy the finding's trigger, as the finding says; to every node if the finding has none.
    claimed: Answer,
    /// If it applies to the nodes that the bug concerns.
    planted: Answer,
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

fn answers(question: &Question, parts: &[Vec<u8>]) -> Result<Vec<Answers>, Box<dyn Error>> {
    let described = question.inputs.iter().chain(question.outputs.iter().flatten());
    let (graph, mut inputs) = decoded(parts, described)?;
    let outputs = inputs.split_off(question.inputs.len());
    let ran = Ran {
        golden: evaluate_as(&graph, &inputs, Arithmetic::default(), &[]).ok(),
        outputs: question.outputs.as_ref().map(|_| outputs),
        graph,
        inputs,
    };
    let is_planted = |node: &&Node| !node.outputs.iter().any(|output| question.spared.contains(output));
    let planted: Vec<_> = ran.graph.nodes.iter().filter(is_planted).collect();
    let answers = |Explanation { name, trigger }: &Explanation| Answers {
        claimed: ran.answer(name, &ran.concerned(trigger.as_ref())),
        planted: ran.answer(name, &planted),
    };
    Ok(question.explanations.iter().map(answers).collect())
}

/// A graph that ran.
struct Ran {
    graph: Graph,
    inputs: Vec<Tensor>,
    /// `None` if the backend failed.
    outputs: Option<Vec<Tensor>>,
    golden: Option<Evaluation>,
}

impl Ran {
    /// The nodes that a trigger concerns; every node if there is none.
    fn concerned(&self, trigger: Option<&Trigger>) -> Vec<&Node> {
        let Some(trigger) = trigger else { return self.graph.nodes.iter().collect() };
        let case = Case {
            graph: self.graph.clone(),
            request: Request { precision: DataType::Float, tf32: false },
            runs: vec![Run { inputs: self.inputs.iter().cloned().map(TensorSource::Data).collect() }],
            expectation: Expectation::Valid,
            provenance: None,
        };
        let nodes = self.graph.nodes.iter().zip(concerned(&describe(&case), trigger));
        nodes.filter(|(_, concerned)| *concerned).map(|(node, _)| node).collect()
    }

    /// Whether the explanation called `name`, applied to the nodes `only`, agrees with the output.
    fn answer(&self, name: &str, only: &[&Node]) -> Answer {
        let Some(hypothesis) = Hypothesis::from_name(name) else { return Answer::Unknown };
        let (arithmetic, limits) = (Arithmetic::default(), Limits::default());
        let evaluation: Result<_, Unknown> =
            evaluate_edited(&self.graph, &self.inputs, arithmetic, hypothesis, Some(only), limits);
        match (evaluation, &self.outputs) {
            (Ok(evaluation), _) if !evaluation.unspecified.is_empty() => Answer::Open,
            (Ok(evaluation), Some(outputs)) if agree(&evaluation, outputs) => {
                let is_vague = |golden| !agree(golden, outputs) && holds(&evaluation, golden);
                if self.golden.as_ref().is_some_and(is_vague) { Answer::Vague } else { Answer::Agrees }
            }
            (Err(_), None) => Answer::Agrees,
            _ => Answer::Differs,
        }
    }
}

/// Whether the bounds of `evaluation` hold the values of `golden`.
fn holds(evaluation: &Evaluation, golden: &Evaluation) -> bool {
    let tensors: Option<Vec<_>> = golden.outputs.iter().map(|output| output.to_tensor().ok()).collect();
    tensors.is_some_and(|tensors| agree(evaluation, &tensors))
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
