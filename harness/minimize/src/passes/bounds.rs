use twinfer_case::Case;
use twinfer_onnx::{Graph, Node, Op};

/// Whether no Clip of constant bounds has a lower bound above its upper one.
pub fn are_ordered(case: &Case) -> bool {
    let clips = case.graph.nodes.iter().filter(|node| matches!(node.op, Op::Clip));
    clips.filter_map(|clip| bounds(&case.graph, clip)).all(|(lower, upper)| lower <= upper)
}

/// Both bounds of a Clip; `None` unless it has both, as initializers.
fn bounds(graph: &Graph, clip: &Node) -> Option<(f64, f64)> {
    let bound = |place: usize| {
        let initializer = graph.initializer(clip.input(place)?)?;
        initializer.to_f64().first().copied()
    };
    Some((bound(1)?, bound(2)?))
}
