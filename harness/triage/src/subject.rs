//! The *subject* of a study: the node that a finding is about, from which the search for its trigger starts. A trigger is made of facts of
//! the subject, so a node that is right must not be taken for it.

use twinfer_case::{Arithmetic, Culprit};
use twinfer_checks::is_visible;
use twinfer_golden::Hypothesis;
use twinfer_onnx::{Node, Op};
use twinfer_segments::concerns_values;
use twinfer_workers::TriageWorkers;

use crate::{Scrutiny, TriageError, diverging_case::DivergingCase};

/// Operators that a finding is about, the likeliest first.
const SUBJECTS: [&str; 8] = [
    "ConvTranspose",
    "Conv",
    "BatchNormalization",
    "MaxPool",
    "Concat",
    "Add",
    "QuantizeLinear",
    "DequantizeLinear",
];

/// What tells which node of a graph a finding is about.
#[derive(Clone, Copy, Default)]
pub struct Clues<'a> {
    /// The output of the node that is wrong alone.
    pub wrong_alone: Option<&'a str>,
    /// The operator that runs in another precision than it should.
    pub fallback: Option<&'a str>,
    /// The segment that is wrong.
    pub culprit: Option<&'a Culprit>,
}

/// The place of the node that a finding is about; `None` in a graph without nodes. `explained` tells which of several nodes of one operator the
/// explanation of the finding would change.
pub fn subject(nodes: &[Node], clues: Clues<'_>, explained: impl Fn(&Node) -> bool) -> Option<usize> {
    let operator = |place: &usize| nodes[*place].op.op_type();
    let is_output =
        |node: &Node| node.outputs.iter().any(|output| Some(output.as_str()) == clues.wrong_alone);
    if let Some(place) = nodes.iter().position(is_output) {
        return Some(place);
    }
    let all: Vec<_> = (0..nodes.len()).collect();
    let falling = all.iter().copied().filter(|place| Some(operator(place)) == clues.fallback);
    let wrong = all.iter().copied().filter(|&place| clues.culprit.is_some_and(|one| has(one, &nodes[place])));
    let (falling, wrong): (Vec<_>, Vec<_>) = (falling.collect(), wrong.collect());
    let candidates = [falling, wrong, all].into_iter().find(|candidates| !candidates.is_empty())?;
    let of_operator = |wanted: &str| {
        let places: Vec<_> = candidates.iter().copied().filter(|place| operator(place) == wanted).collect();
        (!places.is_empty()).then_some(places)
    };
    let Some(places) = SUBJECTS.iter().find_map(|operator| of_operator(operator)) else {
        return candidates.first().copied();
    };
    let alike = places.len() > 1;
    places
        .iter()
        .copied()
        .find(|&place| alike && explained(&nodes[place]))
        .or_else(|| places.first().copied())
}

/// Whether the segment has a node of this name and operator.
pub fn has(culprit: &Culprit, node: &Node) -> bool {
    culprit.nodes.iter().any(|one| one.name == node.name && one.operator == node.op.op_type())
}

/// The segment of a minimal case that is wrong, if its values are; `None` if there is none.
pub fn culprit(minimal: &DivergingCase, workers: &TriageWorkers) -> Result<Option<Culprit>, TriageError> {
    let divergences = minimal.evaluated.divergences();
    let lead = divergences.get(minimal.symptom.place_among(divergences));
    if !lead.is_some_and(concerns_values) {
        return Ok(None);
    }
    let mut minimal = minimal.evaluated.clone();
    Scrutiny::Rounded.apply(workers, &mut minimal)?;
    Ok(minimal.divergences().iter().find_map(|divergence| divergence.culprit.clone()))
}

/// Whether one of `hypotheses` would show in the outputs of `minimal` if only `node`, or a quantizer that gives what it reads, were changed.
pub fn is_explained_at(
    minimal: &DivergingCase,
    hypotheses: &[Hypothesis],
    arithmetic: Arithmetic,
    node: &Node,
) -> bool {
    let evaluated = &minimal.evaluated;
    let graph = &evaluated.encoded.case.graph;
    let producers = node.inputs.iter().filter_map(|input| graph.producer(input));
    let quantizers =
        producers.filter(|node| matches!(node.op, Op::DequantizeLinear(_) | Op::QuantizeLinear(_)));
    let mut changed = [node].into_iter().chain(quantizers);
    changed.any(|node| {
        hypotheses.iter().any(|&hypothesis| {
            is_visible(hypothesis, Some(node), &evaluated.encoded, &evaluated.references, arithmetic)
        })
    })
}

#[cfg(test)]
mod tests {
    use twinfer_case::{NamedNode, Shown};
    use twinfer_onnx::{Conv, ConvTranspose};

    use super::*;

    fn node(name: &str, op: Op) -> Node {
        Node { name: name.to_owned(), op, inputs: Vec::new(), outputs: vec![format!("{name}_out")] }
    }

    fn nodes() -> [Node; 4] {
        [
            node("first", Op::Conv(Conv::default())),
            node("second", Op::Conv(Conv::default())),
            node("up", Op::ConvTranspose(ConvTranspose::default())),
            node("relu", Op::Relu),
        ]
    }

    fn culprit_of(names: &[(&str, &str)]) -> Culprit {
        let named = |(name, operator): &(&str, &str)| NamedNode {
            name: (*name).to_owned(),
            operator: (*operator).to_owned(),
        };
        let (nodes, output) = (names.iter().map(named).collect(), "out".to_owned());
        Culprit { nodes, inputs: Vec::new(), output, shown: Shown::Fused }
    }

    fn name(clues: Clues<'_>, explained: &str) -> String {
        let nodes = nodes();
        nodes[subject(&nodes, clues, |node| node.name == explained).unwrap()].name.clone()
    }

    #[test]
    fn subject_is_the_likeliest_operator_if_nothing_is_known() {
        assert_eq!(name(Clues::default(), ""), "up");
        assert_eq!(subject(&[], Clues::default(), |_| true), None);
    }

    #[test]
    fn subject_is_a_node_of_the_culprit() {
        let culprit = culprit_of(&[("second", "Conv"), ("relu", "Relu")]);
        assert_eq!(name(Clues { culprit: Some(&culprit), ..Clues::default() }, "first"), "second");
        let elsewhere = culprit_of(&[("gone", "Conv")]);
        assert_eq!(name(Clues { culprit: Some(&elsewhere), ..Clues::default() }, ""), "up");
    }

    #[test]
    fn subject_among_equal_operators_is_the_explained_one() {
        let culprit = culprit_of(&[("first", "Conv"), ("second", "Conv")]);
        let clues = Clues { culprit: Some(&culprit), ..Clues::default() };
        assert_eq!(name(clues, "second"), "second");
        assert_eq!(name(clues, "nothing"), "first");
    }

    #[test]
    fn subject_is_the_node_that_is_wrong_alone() {
        let clues = Clues { wrong_alone: Some("second_out"), ..Clues::default() };
        assert_eq!(name(clues, "first"), "second");
    }

    #[test]
    fn subject_of_a_fallback_is_its_operator() {
        let culprit = culprit_of(&[("first", "Conv")]);
        let clues = Clues { fallback: Some("ConvTranspose"), culprit: Some(&culprit), ..Clues::default() };
        assert_eq!(name(clues, ""), "up");
    }
}
