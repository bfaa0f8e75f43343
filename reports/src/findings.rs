//! What every format says about a finding, in the same words.

use twinfer_case::{CaseSize, Finding, Kind};

use crate::numbers::counted;

/// What explains it, or that nothing does; nothing where there are no values to explain.
pub(crate) fn diagnosis(finding: &Finding) -> Option<String> {
    finding.explanation().map(ToString::to_string).or_else(|| mutants(finding))
}

/// The mutants alone, as older findings hold them.
fn mutants(finding: &Finding) -> Option<String> {
    match (finding.diagnosis.as_slice(), finding.kind) {
        ([], Kind::WrongValues) => Some("unexplained".to_owned()),
        ([], _) => None,
        ([one], _) => Some(one.clone()),
        (several, _) => Some(format!("one of: {}", several.join(", "))),
    }
}

/// `trt-rtx (TensorRT-RTX 1.7.1.116)`, several joined by a comma.
pub(crate) fn seen_in(finding: &Finding) -> String {
    let sightings = finding.seen_in.iter().map(|seen| format!("{} ({})", seen.variant, seen.version));
    sightings.collect::<Vec<_>>().join(", ")
}

/// `3 nodes, 96 input elements → 1 node, 4 input elements`
pub(crate) fn shrunk(finding: &Finding) -> String {
    format!("{} → {}", size(finding.before), size(finding.after))
}

/// What was expected and seen, by the divergence that gave the signature.
pub(crate) fn detail(finding: &Finding) -> &str {
    finding.divergences.first().map_or("", |divergence| divergence.detail.as_str())
}

fn size(size: CaseSize) -> String {
    let nodes = counted(size.nodes as u64, "node", "nodes");
    format!("{nodes}, {}", counted(size.input_elements as u64, "input element", "input elements"))
}
