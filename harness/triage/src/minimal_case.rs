use std::collections::BTreeMap;

use twinfer_case::{CaseHash, EncodedCase, Signature, VariantInfo};
use twinfer_onnx::Graph;

/// What an investigation reduced a suspect to, before experiments: a hash over the case without names and opset, the variant, and the
/// signature. Two suspects that come down to the same show one bug: experiments depend on little else. Generators draw names and
/// opsets, which minimization keeps and which distinguish no minimal cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinimalCase(CaseHash);

impl MinimalCase {
    /// A case with this signature in the variant of `info`.
    pub(crate) fn new(encoded: &EncodedCase, signature: &Signature, info: &VariantInfo) -> Self {
        let (request, runs) = (&encoded.case.request, &encoded.task.runs);
        let graph = without_names(encoded.case.graph.clone());
        let case = CaseHash::over(&graph.encode(), request, runs);
        let shown = format!("{case} {} {}", info.variant, signature.canonical());
        Self(CaseHash::over(shown.as_bytes(), request, &[]))
    }

    /// The minimal case with this hash.
    pub(crate) const fn with_hash(hash: CaseHash) -> Self {
        Self(hash)
    }

    /// By which a journal names it.
    pub const fn hash(self) -> CaseHash {
        self.0
    }
}

/// The graph with its values numbered in the order in which nodes use them, and without an opset.
fn without_names(graph: Graph) -> Graph {
    let mut numbers = BTreeMap::new();
    let mut rename = |name: &mut String| {
        if !name.is_empty() {
            let next = numbers.len();
            *name = numbers.entry(name.clone()).or_insert(next).to_string();
        }
    };
    let mut graph = Graph { opset: 0, ..graph };
    graph.inputs.iter_mut().for_each(|input| rename(&mut input.name));
    for node in &mut graph.nodes {
        node.name.clear();
        node.inputs.iter_mut().chain(&mut node.outputs).for_each(&mut rename);
    }
    graph.initializers.iter_mut().for_each(|initializer| rename(&mut initializer.name));
    graph.initializers.sort_by(|one, other| one.name.cmp(&other.name));
    graph.outputs.iter_mut().for_each(|output| rename(&mut output.name));
    graph
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{Conv, DataType, Dim, Initializer, Node, Op, Tensor, TensorData, ValueInfo};

    use super::*;

    fn graph(opset: i64, [x, w, b, y]: [&str; 4], weight: f32) -> Graph {
        let info = |name: &str| ValueInfo {
            name: name.to_owned(),
            dtype: DataType::Float,
            shape: Some([1, 1, 1].map(Dim::Fixed).to_vec()),
        };
        let initializer = |name: &str, value: f32, shape: &[usize]| Initializer {
            name: name.to_owned(),
            tensor: Tensor { shape: shape.to_vec(), data: TensorData::Float(vec![value]) },
        };
        let node = Node {
            name: format!("node {y}"),
            op: Op::Conv(Conv::default()),
            inputs: [x, w, b].map(str::to_owned).to_vec(),
            outputs: vec![y.to_owned()],
        };
        Graph {
            opset,
            inputs: vec![info(x)],
            initializers: vec![initializer(w, weight, &[1, 1, 1]), initializer(b, 1.0, &[1])],
            nodes: vec![node],
            outputs: vec![info(y)],
        }
    }

    #[test]
    fn names_order_of_initializers_and_opset_make_no_difference() {
        let one = graph(13, ["x", "W0", "B1", "y0"], 2.0);
        let mut other = graph(22, ["y3", "W", "A", "y4"], 2.0);
        other.initializers.reverse();
        assert_eq!(without_names(one.clone()), without_names(other));
        assert_ne!(without_names(one.clone()), without_names(graph(13, ["x", "W0", "B1", "y0"], 3.0)));
        assert_ne!(without_names(one), without_names(graph(13, ["x", "W0", "W0", "y0"], 2.0)));
    }
}
