use twinfer_case::Case;
use twinfer_onnx::{Node, Op};

use super::edit::give;
use crate::Choices;

/// Adds a convolution that reads the weight of another, of the same input or of its Relu, with or without the bias.
pub fn apply(case: &mut Case, choices: &mut Choices) -> Option<()> {
    let places = (0..case.graph.nodes.len())
        .filter(|place| matches!(case.graph.nodes[*place].op, Op::Conv(_) | Op::ConvTranspose(_)));
    let place = *choices.some_of(&places.collect::<Vec<_>>())?;
    let mut second = case.graph.nodes[place].clone();
    second.name = format!("{}_second", second.name);
    second.outputs = vec![format!("{}_second", second.outputs.first()?)];
    if choices.percent(50) {
        second.inputs.truncate(2);
    }
    let mut added = Vec::new();
    if choices.percent(50) {
        let rectified = format!("{}_rectified", second.name);
        let x = std::mem::replace(second.inputs.first_mut()?, rectified.clone());
        added.push(Node {
            name: format!("{}_relu", second.name),
            op: Op::Relu,
            inputs: vec![x],
            outputs: vec![rectified],
        });
    }
    let output = second.outputs[0].clone();
    added.push(second);
    let behind = place + 1;
    case.graph.nodes.splice(behind..behind, added);
    give(case, &output)
}
