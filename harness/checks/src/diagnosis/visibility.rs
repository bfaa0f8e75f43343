//! Where a hypothesis would show.

use twinfer_case::EncodedCase;
use twinfer_golden::{Agreement, Arithmetic, Hypothesis, Limits, Reference, Unknown, evaluate_edited};
use twinfer_onnx::{Node, Tensor};

use crate::RunReference;

/// The limits on an evaluation: many are made.
const LIMITS: Limits = Limits { elements: 1 << 18, multiply_accumulates: 1 << 20 };

/// Whether an output of a case would differ from golden's `references` by more than the bounds of both if `hypothesis` held at `node` alone, on
/// a backend of this arithmetic. False if that is not known.
pub fn is_visible(
    hypothesis: Hypothesis,
    node: &Node,
    encoded: &EncodedCase,
    references: &[RunReference],
    arithmetic: Arithmetic,
) -> bool {
    let (graph, arithmetic) = (&encoded.case.graph, arithmetic.for_request(&encoded.case.request));
    let differs = |(inputs, golden): (&Vec<Tensor>, &RunReference)| {
        let Ok(golden) = golden else { return false };
        match evaluate_edited(graph, inputs, arithmetic, hypothesis, Some(&[node]), LIMITS) {
            Ok(edited) => golden.outputs.iter().zip(&edited.outputs).any(are_apart),
            Err(Unknown::TooLarge { .. }) => false,
            // no output at all is something else too
            Err(_) => true,
        }
    };
    encoded.task.runs.iter().zip(references).any(differs)
}

fn are_apart((golden, edited): (&Reference, &Reference)) -> bool {
    golden.shape != edited.shape || (0..golden.values.len()).any(|place| are_apart_at(place, golden, edited))
}

fn are_apart_at(place: usize, golden: &Reference, edited: &Reference) -> bool {
    let agreements =
        [golden.compare(place, edited.values[place]), edited.compare(place, golden.values[place])];
    let [Agreement::Wrong(deviation), Agreement::Wrong(_)] = agreements else { return false };
    let bounds = golden.bound[place] + edited.bound[place];
    deviation > bounds || bounds == 0.0
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Case, Expectation, Request, Run, TensorSource};
    use twinfer_onnx::{DataType, Graph, Op, ValueInfo};

    use super::*;
    use crate::{golden, references};

    /// Two Relus in a row.
    fn case(data: &[f64]) -> Case {
        let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
        let relu = |input: &str, output: &str| Node {
            name: output.to_owned(),
            op: Op::Relu,
            inputs: vec![input.to_owned()],
            outputs: vec![output.to_owned()],
        };
        let data = Tensor::from_f64(DataType::Float, vec![1, data.len()], data).expect("a small tensor");
        Case {
            graph: Graph {
                opset: 17,
                inputs: vec![value("x")],
                initializers: Vec::new(),
                nodes: vec![relu("x", "a"), relu("a", "y")],
                outputs: vec![value("y")],
            },
            request: Request { precision: DataType::Float, tf32: false },
            runs: vec![Run { inputs: vec![TensorSource::Data(data)] }],
            expectation: Expectation::Valid,
            provenance: None,
        }
    }

    /// For each of the Relus, whether a mistake would show.
    fn visible(mistake: &str, data: &[f64]) -> Vec<bool> {
        let encoded = EncodedCase::encode(case(data)).expect("a small case");
        let references = references(&encoded, &golden(), Arithmetic::default());
        let hypothesis = Hypothesis::from_name(mistake).expect("it is known");
        let nodes = encoded.case.graph.nodes.iter();
        nodes.map(|node| is_visible(hypothesis, node, &encoded, &references, Arithmetic::default())).collect()
    }

    #[test]
    fn mistake_shows_where_it_changes_an_output() {
        assert_eq!(visible("relu-clipped-at-6", &[1.0, 5.0]), [false, false], "nothing is clipped");
        assert_eq!(visible("relu-clipped-at-6", &[1.0, 7.0]), [true, true]);
        assert_eq!(
            visible("relu-input-absolute", &[-1.0]),
            [true, false],
            "no negative number reaches the second"
        );
    }
}
