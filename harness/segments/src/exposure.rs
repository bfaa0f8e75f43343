//! *Exposure* of values inside a graph: cases that return them as outputs.

use std::sync::Arc;

use twinfer_case::{Case, Culprit, EncodedCase, Run};
use twinfer_onnx::PartialGraph;

use crate::{segment::declared_output, structure::Structure};

/// Cases that may show at their outputs what is wrong only inside `case`: first `case` with the output of the culprit as a further output, then with
/// all values that are observed to find a culprit.
pub fn exposed<'a>(case: &'a Case, culprit: &'a Culprit) -> impl Iterator<Item = Arc<EncodedCase>> + use<'a> {
    let graph = PartialGraph::from(&case.graph);
    let observed = Structure::of(&graph).boundaries().into_iter().map(str::to_owned);
    let mut sets = vec![inside(case, [culprit.output.clone()]), inside(case, observed)];
    sets.dedup();
    sets.into_iter().filter_map(|values| EncodedCase::encode(exposing(case, &values)?).ok())
}

/// The values that are not outputs of `case` already.
fn inside(case: &Case, values: impl IntoIterator<Item = String>) -> Vec<String> {
    let is_output = |value: &String| case.graph.outputs.iter().any(|output| output.name == *value);
    values.into_iter().filter(|value| !is_output(value)).collect()
}

/// `case` with these values as further outputs; `None` if there are none, or if one of them has no shape that holds in every run.
fn exposing(case: &Case, values: &[String]) -> Option<Case> {
    let extents = |run: &Run| run.inputs.iter().map(|input| input.shape().to_vec()).collect();
    let extents: Vec<Vec<Vec<usize>>> = case.runs.iter().map(extents).collect();
    let further = values.iter().map(|value| declared_output(&case.graph, value, &extents).ok());
    let further = further.collect::<Option<Vec<_>>>().filter(|further| !further.is_empty())?;
    let mut graph = case.graph.clone();
    graph.outputs.extend(further);
    Some(Case { graph, provenance: None, ..case.clone() })
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Expectation, NamedNode, Request, Shown, TensorSource};
    use twinfer_onnx::{DataType, Graph, Node, Op, Tensor, ValueInfo};

    use super::*;

    /// Four Relus behind each other; the second value and the last are outputs.
    fn case() -> Case {
        let relu = |name: &str, input: &str, output: &str| Node {
            name: name.to_owned(),
            op: Op::Relu,
            inputs: vec![input.to_owned()],
            outputs: vec![output.to_owned()],
        };
        let value = |name: &str| ValueInfo::over_runs(name, DataType::Float, &[&[2]]).expect("a shape");
        let input = Tensor::from_f64(DataType::Float, vec![2], &[1.0, -1.0]).expect("a tensor");
        Case {
            graph: Graph {
                opset: 17,
                inputs: vec![value("x")],
                initializers: Vec::new(),
                nodes: vec![
                    relu("r0", "x", "a"),
                    relu("r1", "a", "b"),
                    relu("r2", "b", "c"),
                    relu("r3", "c", "y"),
                ],
                outputs: vec![value("b"), value("y")],
            },
            request: Request { precision: DataType::Float, tf32: false },
            runs: vec![Run { inputs: vec![TensorSource::Data(input)] }],
            expectation: Expectation::Valid,
            provenance: None,
        }
    }

    fn outputs_exposing(output: &str) -> Vec<Vec<String>> {
        let node = NamedNode::new("r0", "Relu", "a");
        let (nodes, inputs, output) = (vec![node], vec!["x".to_owned()], output.to_owned());
        let culprit =
            Culprit { nodes, inputs, output, shown: Shown::InPlace, difference: None, behind: Vec::new() };
        let names = |encoded: Arc<EncodedCase>| {
            encoded.case.graph.outputs.iter().map(|output| output.name.clone()).collect()
        };
        exposed(&case(), &culprit).map(names).collect()
    }

    #[test]
    fn wrong_value_is_exposed_first_and_then_all_that_are_observed() {
        assert_eq!(outputs_exposing("a"), [vec!["b", "y", "a"], vec!["b", "y", "a", "c"]]);
    }

    #[test]
    fn nothing_is_exposed_that_is_an_output() {
        assert_eq!(outputs_exposing("b"), [["b", "y", "a", "c"]], "what is observed besides");
        assert_eq!(exposing(&case(), &[]), None);
        assert_eq!(exposing(&case(), &["z".to_owned()]), None, "there is no such value");
    }
}
