use twinfer_case::Case;
use twinfer_onnx::{Graph, Initializer, Node, Op};

use crate::Choices;

/// Makes an initializer, or all of them, the output of a Constant.
pub fn apply(case: &mut Case, choices: &mut Choices) -> Option<()> {
    let initializers = &mut case.graph.initializers;
    let count = initializers.len();
    let chosen = (count > 0).then(|| choices.below(count))?;
    if choices.percent(30) {
        apply_to_all(case);
    } else {
        let moved = vec![initializers.remove(chosen)];
        add(&mut case.graph, moved);
    }
    Some(())
}

/// Makes all initializers the outputs of Constants.
pub fn apply_to_all(case: &mut Case) {
    let moved = std::mem::take(&mut case.graph.initializers);
    add(&mut case.graph, moved);
}

fn add(graph: &mut Graph, moved: Vec<Initializer>) {
    let constants = moved.into_iter().map(|initializer| Node {
        name: format!("constant_{}", initializer.name),
        op: Op::Constant(initializer.tensor),
        inputs: vec![],
        outputs: vec![initializer.name],
    });
    graph.nodes.splice(0..0, constants.collect::<Vec<_>>());
}
