use twinfer_case::{Case, Expectation, TensorSource};
use twinfer_onnx::infer_shapes;

/// Where an invalid graph breaks its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokenBy {
    /// In a node of this ONNX operator type.
    Operator(&'static str),
    /// In a value, or in the graph as a whole: no operator is special.
    Graph,
}

impl BrokenBy {
    /// Where `case` breaks the rule that it is known to break; `None` if its graph is valid or breaks another rule first.
    pub fn of(case: &Case) -> Option<Self> {
        let Expectation::Invalid(rule) = &case.expectation else { return None };
        let inputs = case.runs.first()?.inputs.iter();
        let shapes: Vec<_> = inputs.map(TensorSource::shape).map(<[usize]>::to_vec).collect();
        let violation = infer_shapes(&case.graph, &shapes).err()?;
        let is_known = violation.rule.name() == rule;
        is_known.then(|| violation.place.op_type().map_or(Self::Graph, Self::Operator))
    }
}
