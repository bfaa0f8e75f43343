//! The segment of a finding's case that is wrong.

use twinfer_case::{Case, Culprit, Divergence, Shown, Trigger};
use twinfer_segments::named;
use twinfer_triggers::{describe, satisfies};
use twinfer_workers::TriageWorkers;

use crate::{Scrutiny, TriageError, suspect::Suspect, triage_result::Confirmed};

/// Adds to the divergences of a finding which segment is wrong: the one that is known of the suspect, or otherwise the one that judging the
/// minimal case segment by segment shows. The record of the case does not get it: it would differ from the records of the finding's other
/// cases, and which one stands for a finding depends on the cases that a campaign has.
pub fn add(
    mut confirmed: Confirmed,
    suspect: &Suspect,
    workers: &TriageWorkers,
) -> Result<Confirmed, TriageError> {
    let is_concerned =
        confirmed.recurs && confirmed.finding.divergences.iter().any(Divergence::concerns_values);
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
        .filter(|divergence| divergence.concerns_values())
        .for_each(|divergence| divergence.culprit.clone_from(&culprit));
    let is_about_culprit = confirmed.finding.divergences.first().is_some_and(Divergence::concerns_values);
    if let Some(culprit) = culprit.filter(|_| is_about_culprit) {
        let case = &confirmed.minimal.encoded.case;
        confirmed.finding.trigger.take_if(|trigger| !may_hold_at(trigger, &culprit, case));
    }
    Ok(confirmed)
}

/// Whether the condition of a trigger may be that of the culprit. A culprit that is wrong alone, as far as `case` has its nodes, satisfies its
/// condition itself: what only other nodes satisfy is the condition of something else.
fn may_hold_at(trigger: &Trigger, culprit: &Culprit, case: &Case) -> bool {
    let described = case.graph.nodes.iter().zip(describe(case));
    let of_culprit: Vec<_> =
        described.filter(|(node, _)| culprit.has(&named(node))).map(|(_, described)| described).collect();
    culprit.shown != Shown::Alone || of_culprit.is_empty() || satisfies(&of_culprit, trigger)
}

fn of_minimal(confirmed: &Confirmed, workers: &TriageWorkers) -> Result<Option<Culprit>, TriageError> {
    let mut minimal = confirmed.minimal.clone();
    Scrutiny::Rounded.apply(workers, &mut minimal)?;
    Ok(minimal.divergences().iter().find_map(|divergence| divergence.culprit.clone()))
}

#[cfg(test)]
mod tests {
    use twinfer_case::{
        Axes, Expectation, Fact, NamedNode, Quantity, Relation, Request, Run, Tally, TensorSource,
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

    fn holds(operator: &str, node: &str, shown: Shown) -> bool {
        let few = Fact::Number(Axes::Every, Quantity::Channels, Relation::AtMost, 7);
        let tally = Tally { diverging: 6, cases: 8 };
        let trigger = Trigger {
            operator: operator.to_owned(),
            facts: vec![few],
            satisfying: tally,
            missing: tally,
            shown: None,
        };
        let node = NamedNode::new(node, "Conv", "");
        let (inputs, output) = (Vec::new(), String::new());
        let culprit =
            Culprit { nodes: vec![node], inputs, output, shown, difference: None, behind: Vec::new() };
        may_hold_at(&trigger, &culprit, &case())
    }

    #[test]
    fn trigger_holds_at_a_node_of_the_culprit() {
        assert!(holds("Conv", "c1", Shown::Alone));
        assert!(!holds("Conv", "c2", Shown::Alone), "it has eight input channels");
        assert!(!holds("ConvTranspose", "c1", Shown::Alone), "it is another operator");
        assert!(holds("Conv", "c3", Shown::Alone), "the minimal case has no node of the culprit");
        assert!(holds("Conv", "c2", Shown::InPlace), "another node may make it wrong");
    }
}
