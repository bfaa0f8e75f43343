use twinfer_case::Case;
use twinfer_onnx::{Node, Op};

use crate::Choices;

/// Makes an initializer, or all of them, the output of a Constant.
pub fn apply(case: &mut Case, choices: &mut Choices) -> Option<()> {
    let graph = &mut case.graph;
    let count = graph.initializers.len();
    let chosen = (count > 0).then(|| choices.below(count))?;
    let moved = if choices.percent(30) {
        std::mem::take(&mut graph.initializers)
    } else {
        vec![graph.initializers.remove(chosen)]
    };
    let constants = moved.into_iter().map(|initializer| Node {
        name: format!("constant_{}", initializer.name),
        op: Op::Constant(initializer.tensor),
        inputs: vec![],
        outputs: vec![initializer.name],
    });
    graph.nodes.splice(0..0, constants.collect::<Vec<_>>());
    Some(())
}
