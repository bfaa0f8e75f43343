//! *Sites*: the nodes at which an explanation would show. What a case says of the condition under which a finding shows, it says of these: an
//! error that the values of a case hide is there all the same.

use twinfer_case::{Arithmetic, Case, EncodedCase};
use twinfer_checks::{Oracle, is_visible, references};
use twinfer_golden::Hypothesis;
use twinfer_triggers::DescribedNode;

/// An explanation whose sites are looked for.
pub struct Sites<'a> {
    /// What is wrong.
    pub hypothesis: Hypothesis,
    /// The reference.
    pub oracle: &'a Oracle,
    /// The arithmetic of the backend.
    pub arithmetic: Arithmetic,
}

impl Sites<'_> {
    /// Of the nodes of `case`, which `described` describes, those of `operator` at which the explanation would show.
    pub fn of(&self, case: Case, described: &[DescribedNode], operator: &str) -> Vec<DescribedNode> {
        let Ok(encoded) = EncodedCase::encode(case) else { return Vec::new() };
        let references = references(&encoded, self.oracle, self.arithmetic);
        let nodes = encoded.case.graph.nodes.iter().zip(described);
        let sites = nodes.filter(|(node, described)| {
            described.operator == operator
                && is_visible(self.hypothesis, node, &encoded, &references, self.arithmetic)
        });
        sites.map(|(_, described)| described.clone()).collect()
    }
}
