//! Which wrong values a backend documents.

use twinfer_case::{Description, Diagnosis, Divergence, Effect, Kind, Limitation};
use twinfer_onnx::Graph;

/// Adds to wrong values the rule by which the backend documents them, if there is one: a rule that concerns the graph, and that
/// names a mutant of the diagnosis.
pub fn document(
    divergences: &mut [Divergence],
    diagnosis: &Diagnosis,
    description: &Description,
    graph: &Graph,
) {
    let explains = |limitation: &&Limitation| {
        limitation.effect == Effect::WrongValues
            && diagnosis.mutant_names().any(|mutant| limitation.mutants.iter().any(|named| named == mutant))
    };
    let mut limitations = graph.nodes.iter().flat_map(|node| description.limitations_at(graph, node));
    let Some(limitation) = limitations.find(explains) else { return };
    for divergence in divergences.iter_mut().filter(|divergence| divergence.kind == Kind::WrongValues) {
        divergence.documented = Some(limitation.rule.clone());
    }
}

#[cfg(test)]
mod tests {
    use twinfer_case::{Blame, Condition, ReproducingMutant, Stage};
    use twinfer_onnx::{Conv, Node, Op};

    use super::*;

    fn graph() -> Graph {
        let conv = Node {
            name: String::new(),
            op: Op::Conv(Conv::default()),
            inputs: vec!["x".to_owned(), "w".to_owned()],
            outputs: vec!["y".to_owned()],
        };
        Graph {
            opset: 17,
            inputs: Vec::new(),
            initializers: Vec::new(),
            nodes: vec![conv],
            outputs: Vec::new(),
        }
    }

    /// The description of a backend that documents that `operator` drops its bias.
    fn description(operator: &str) -> Description {
        let limitation = Limitation {
            rule: "no-bias".to_owned(),
            source: "its manual".to_owned(),
            concerns: Condition::Operator(operator.to_owned()),
            effect: Effect::WrongValues,
            mutants: vec!["bias-dropped".to_owned()],
        };
        Description { limitations: vec![limitation], ..Description::new("b", "1", Stage::Execute) }
    }

    /// The rule that documents wrong values which these mutants explain.
    fn documented(operator: &str, mutants: &[&str]) -> Option<String> {
        let explanation =
            |mutant: &&str| ReproducingMutant { name: (*mutant).to_owned(), clause: String::new() };
        let explanations = mutants.iter().map(explanation).collect();
        let diagnosis = Diagnosis { mutants: explanations, ..Diagnosis::default() };
        let variant = "trt".parse().expect("a variant");
        let wrong =
            Divergence::new(variant, Stage::Execute, Kind::WrongValues, Blame::Variant, String::new());
        let mut divergences = [wrong];
        document(&mut divergences, &diagnosis, &description(operator), &graph());
        let [wrong] = divergences;
        wrong.documented
    }

    #[test]
    fn rules_document_the_values_of_their_mutants() {
        assert_eq!(documented("Conv", &["bias-dropped"]).as_deref(), Some("no-bias"));
        assert_eq!(documented("Conv", &["kernel-reversed", "bias-dropped"]).as_deref(), Some("no-bias"));
    }

    #[test]
    fn rules_do_not_document_values_of_other_mutants() {
        assert_eq!(documented("Conv", &["kernel-reversed"]), None);
        assert_eq!(documented("Conv", &[]), None, "unexplained");
        assert_eq!(documented("Relu", &["bias-dropped"]), None, "it does not concern the graph");
    }
}
