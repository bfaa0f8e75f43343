use std::collections::{HashMap, HashSet};

use twinfer_case::{BlindSegment, Blindness, NamedNode, SegmentCounts};

use crate::{
    segment::Segment,
    structure::{Stop, Structure},
};

/// Why a segment is not judged that reads or ends with this value.
pub fn not_observed(value: &str) -> String {
    format!("the value {value:?} was not observed")
}

/// Which nodes judged segments cover, and why others are not covered.
#[derive(Default)]
pub struct Coverage {
    judged: u64,
    covered: HashSet<usize>,
    reasons: HashMap<usize, String>,
    blindest: Option<BlindSegment>,
}

impl Coverage {
    /// A segment was judged.
    pub fn cover(&mut self, segment: &Segment<'_>) {
        self.judged += 1;
        self.covered.extend(segment.nodes.iter().map(|(index, _)| *index));
    }

    /// A segment is right, as far as its comparison sees.
    pub fn cover_right(&mut self, segment: &Segment<'_>, blindness: Option<Blindness>) {
        self.cover(segment);
        let blind = blindness.and_then(|blindness| BlindSegment::new(&segment.names(), blindness));
        self.blindest = BlindSegment::blinder(self.blindest.take(), blind);
    }

    /// A segment could not be judged.
    pub fn miss(&mut self, segment: &Segment<'_>, reason: &str) {
        for (index, _) in &segment.nodes {
            self.reasons.entry(*index).or_insert_with(|| reason.to_owned());
        }
    }

    /// There is no segment that ends with the output of node `index`.
    pub fn stop(&mut self, index: usize, stop: &Stop<'_>) {
        let reason = match stop {
            Stop::Unknown(op_type) => format!("behind {op_type}, which golden does not support"),
            Stop::NotObserved(value) => not_observed(value),
        };
        self.reasons.entry(index).or_insert(reason);
    }

    /// How many segments were judged, and the nodes that none of them covers. Nodes that compute constants alone do not count, nor do those on which no
    /// output depends: their results cannot be observed.
    pub fn counts(&self, structure: &Structure<'_>) -> SegmentCounts {
        let mut counts =
            SegmentCounts { judged: self.judged, not_judged: Vec::new(), blindest: self.blindest.clone() };
        let live = structure.live_nodes();
        for (index, node) in structure.graph().nodes.iter().enumerate() {
            let is_constant = node.op_type() == "Constant" || structure.is_folded(index);
            if self.covered.contains(&index) || is_constant || !live.contains(&index) {
                continue;
            }
            let reason = match (node.op(), self.reasons.get(&index)) {
                (None, _) => format!("golden does not support {}", node.op_type()),
                (Some(_), Some(reason)) => reason.clone(),
                (Some(_), None) => "no value that depends on it was observed".to_owned(),
            };
            let node = NamedNode::new(node.name(), node.op_type(), "");
            counts.skip(&reason, node);
        }
        counts
    }
}
