use std::cmp::Ordering;

use twinfer_case::Case;
use twinfer_onnx::{Graph, Node, Op};

/// By Clip of two constant bounds: how they are ordered.
pub fn orders(case: &Case) -> Vec<Option<Ordering>> {
    let clips = case.graph.nodes.iter().filter(|node| matches!(node.op, Op::Clip));
    clips.map(|clip| order(&case.graph, clip)).collect()
}

/// Which of equal bounds is the lower one makes no difference; `None` unless a Clip has both, as constants.
fn order(graph: &Graph, clip: &Node) -> Option<Ordering> {
    let bound = |place: usize| graph.initializer(clip.input(place)?)?.to_f64().first().copied();
    let order = bound(1)?.partial_cmp(&bound(2)?)?;
    Some(if order.is_gt() { order } else { Ordering::Less })
}
