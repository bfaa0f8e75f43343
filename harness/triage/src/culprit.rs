//! The segment of a finding's case that is wrong.

use twinfer_case::{Case, Culprit, Trigger};
use twinfer_segments::concerns_values;
use twinfer_triggers::{describe, satisfies};
use twinfer_workers::TriageWorkers;

use crate::{Scrutiny, TriageError, subject::has, suspect::Suspect, triage_result::Confirmed};

/// Adds to the divergences of a finding which segment is wrong: the one that is known of the suspect, or otherwise the one that judging the
/// minimal case segment by segment shows. The record of the case does not get it: it would differ from the records of the finding's other
/// cases, and which one stands for a finding depends on the cases that a campaign has.
pub fn add(
    mut confirmed: Confirmed,
    suspect: &Suspect,
    workers: &TriageWorkers,
) -> Result<Confirmed, TriageError> {
    let is_concerned = confirmed.recurs && confirmed.finding.divergences.iter().any(concerns_values);
    if !is_concerned {
        return Ok(confirmed);
    }
    let known = suspect.lead().and_then(|lead| lead.culprit.clone());
    let culprit = match known {
        Some(known) => Some(known),
        None => of_minimal(&confirmed, workers)?,
    };
    let divergences = confirmed.finding.divergences.iter_mut();
    divergences
        .filter(|divergence| concerns_values(divergence))
        .for_each(|divergence| divergence.culprit.clone_from(&culprit));
    let is_concerned = confirmed.finding.divergences.first().is_some_and(concerns_values);
    let holds =
        |trigger: &Trigger, culprit: &Culprit| holds_at(trigger, culprit, &confirmed.minimal.encoded.case);
    let finding = &confirmed.finding;
    if let (true, Some(culprit), Some(trigger)) = (is_concerned, &culprit, &finding.trigger)
        && !holds(trigger, culprit)
    {
        confirmed.finding.trigger = None;
    }
    Ok(confirmed)
}

/// Whether a node of the culprit satisfies the condition of a trigger, as far as `case` has nodes of it. A trigger that only other nodes satisfy
/// is the condition of something else.
fn holds_at(trigger: &Trigger, culprit: &Culprit, case: &Case) -> bool {
    let described = describe(case);
    let of_culprit = case.graph.nodes.iter().zip(described).filter(|(node, _)| has(culprit, node));
    let of_culprit: Vec<_> = of_culprit.map(|(_, described)| described).collect();
    of_culprit.is_empty() || satisfies(&of_culprit, trigger)
}

fn of_minimal(confirmed: &Confirmed, workers: &TriageWorkers) -> Result<Option<Culprit>, TriageError> {
    let mut minimal = confirmed.minimal.clone();
    Scrutiny::Rounded.apply(workers, &mut minimal)?;
    Ok(minimal.divergences().iter().find_map(|divergence| divergence.culprit.clone()))
}

#[cfg(test)]
mod tests {
    use twinfer_case::{
        Axes, Expectation, Fact, NamedNode, Quantity, Relation, Request, Run, Shown, Tally, TensorSource,
    };
    use twinfer_onnx::{Conv, DataType, Graph, Initializer, Node, Op, Tensor, ValueInfo};

    use super::*;

    /// A convolution of two channels to eight, and one of eight to one.
    fn case() -> Case {
        let tensor = |shape: &[usize]| {
            let count = shape.iter().product();
            Tensor::from_f64(DataType::Float, shape.to_vec(), &vec![1.0; count]).unwrap()
        };
        let value =
            |name: &str, shape: &[usize]| ValueInfo::over_runs(name, DataType::Float, &[shape]).unwrap();
        let weights =
            |name: &str, shape: &[usize]| Initializer { name: name.to_owned(), tensor: tensor(shape) };
        let conv = |name: &str, input: &str| Node {
            name: name.to_owned(),
            op: Op::Conv(Conv::default()),
            inputs: vec![input.to_owned(), format!("{name}_w")],
            outputs: vec![format!("{name}_out")],
        };
        let graph = Graph {
            opset: 17,
            inputs: vec![value("x", &[1, 2, 4, 4])],
            initializers: vec![weights("c1_w", &[8, 2, 1, 1]), weights("c2_w", &[1, 8, 1, 1])],
            nodes: vec![conv("c1", "x"), conv("c2", "c1_out")],
            outputs: vec![value("c2_out", &[1, 1, 4, 4])],
        };
        Case {
            graph,
            request: Request { precision: DataType::Float, tf32: false },
            runs: vec![Run { inputs: vec![TensorSource::Data(tensor(&[1, 2, 4, 4]))] }],
            expectation: Expectation::Valid,
            provenance: None,
        }
    }

    fn holds(operator: &str, node: &str) -> bool {
        let few = Fact::Number(Axes::Every, Quantity::Channels, Relation::AtMost, 7);
        let tally = Tally { diverging: 6, cases: 8 };
        let trigger = Trigger {
            operator: operator.to_owned(),
            facts: vec![few],
            satisfying: tally,
            missing: tally,
            shown: None,
        };
        let node = NamedNode { name: node.to_owned(), operator: "Conv".to_owned() };
        let (inputs, output) = (Vec::new(), String::new());
        let culprit = Culprit { nodes: vec![node], inputs, output, shown: Shown::Alone };
        holds_at(&trigger, &culprit, &case())
    }

    #[test]
    fn trigger_holds_at_a_node_of_the_culprit() {
        assert!(holds("Conv", "c1"));
        assert!(!holds("Conv", "c2"), "it has eight input channels");
        assert!(!holds("ConvTranspose", "c1"), "it is another operator");
        assert!(holds("Conv", "c3"), "the minimal case has no node of the culprit");
    }
}
