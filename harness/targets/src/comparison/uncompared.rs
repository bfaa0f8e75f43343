//! Outputs of a model that golden does not support, and that are not compared with another variant either.

use std::{collections::BTreeSet, iter};

use twinfer_case::{Culprit, Note, Shown, VariantRecord};
use twinfer_checks::OutputSource;
use twinfer_onnx::PartialGraph;
use twinfer_segments::Found;

use crate::OpaqueModel;

/// A note on the outputs that depend on random numbers, if there are any.
pub fn random_outputs(model: &OpaqueModel) -> Option<Note> {
    let sources = model.output_sources();
    let is_random = |source: &OutputSource| matches!(source, OutputSource::Random(_));
    let random = sources.iter().zip(model.output_names()).filter(|(source, _)| is_random(source));
    let random: Vec<_> = random.map(|(_, name)| name).collect();
    not_compared(&random, "random numbers decide")
}

/// A note that these outputs of a variant are not compared, if there are any.
pub fn not_compared(outputs: &[String], why: &str) -> Option<Note> {
    let quoted: Vec<_> = outputs.iter().map(|output| format!("{output:?}")).collect();
    let named = match quoted.as_slice() {
        [] => return None,
        [one] => format!("output {one} was"),
        several => format!("outputs {} were", several.join(", ")),
    };
    Some(Note::Uncompared(format!("{named} not compared with other backends, since {why}")))
}

/// The places of the outputs that depend on a value that a wrong segment computes; all if the whole model is wrong in another way.
pub fn affected_outputs(graph: &PartialGraph, found: &[Found], record: &VariantRecord) -> Vec<usize> {
    let of_record = record.verdict.divergences().iter().filter_map(|divergence| divergence.culprit.as_ref());
    let culprits: Vec<_> = of_record.chain(found.iter().map(|found| &found.culprit)).collect();
    let all = 0..graph.outputs.len();
    if culprits.iter().any(|culprit| culprit.shown == Shown::Whole) {
        return all.collect();
    }
    let ends = |culprit: &&Culprit| {
        let behind = culprit.behind.iter().map(|segment| segment.output.clone());
        iter::once(culprit.output.clone()).chain(behind).collect::<Vec<_>>()
    };
    let mut wrong: BTreeSet<String> = culprits.iter().flat_map(ends).collect();
    // the nodes of a model are in an order in which each reads what is computed before it
    for node in &graph.nodes {
        if node.inputs().any(|input| wrong.contains(input)) {
            wrong.extend(node.outputs().map(str::to_owned));
        }
    }
    all.filter(|output| wrong.contains(&graph.outputs[*output])).collect()
}
