//! The finding that a minimal case shows.

use std::collections::BTreeMap;

use twinfer_case::{Case, CaseHash, Expectation, FINDING_FORMAT, Finding, Kind, Sighting, VariantInfo};
use twinfer_checks::Evaluated;

use crate::diverging_case::DivergingCase;

/// The finding that `minimal` shows, to which the case of `suspect` was reduced; `preceding` are the cases that it needs
/// before it.
pub fn finding(
    info: &VariantInfo,
    suspect: &Evaluated,
    DivergingCase { evaluated: minimal, symptom }: &DivergingCase,
    preceding: Vec<CaseHash>,
) -> Finding {
    let signature = symptom.signature(info, &minimal.encoded);
    Finding {
        format: FINDING_FORMAT,
        kind: signature.kind,
        stage: signature.stage,
        diagnosis: symptom.diagnosis().to_vec(),
        graph: displayed_graph(signature.kind, &minimal.encoded.case),
        signature,
        seen_in: vec![sighting(info)],
        only_poisoned: info.variant.is_poisoned(),
        only_inside: symptom.is_inside(),
        before: suspect.encoded.size(),
        after: minimal.encoded.size(),
        case: minimal.encoded.task.hash,
        provenance: suspect.encoded.case.provenance.clone(),
        preceding,
        cut_short: false,
        outcomes: Vec::new(),
        trigger: None,
        refuted: symptom.refuted().to_vec(),
        wrong_at: Vec::new(),
        differences: BTreeMap::new(),
        fewest_options: None,
        divergences: symptom.narrowed(minimal.divergences()),
    }
}

/// The variant and the backend version in which a finding was seen.
pub fn sighting(info: &VariantInfo) -> Sighting {
    Sighting { variant: info.variant.clone(), version: info.description.backend_version() }
}

/// The graph in one line; for `accepts-invalid` after the rule that the graph breaks.
fn displayed_graph(kind: Kind, case: &Case) -> String {
    let graph = case.graph.to_string();
    match (kind, &case.expectation) {
        (Kind::AcceptsInvalid, Expectation::Invalid(rule)) => format!("breaks {rule}: {graph}"),
        _ => graph,
    }
}
