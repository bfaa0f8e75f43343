use twinfer_onnx::Node;

use crate::{
    edit::{Change, Edit, Operator, Region},
    hypothesis::Hypothesis,
    semantics::Semantics,
};

/// A hypothesis, and the semantics of the nodes that it changes.
#[derive(Debug)]
pub struct Edited<'n> {
    /// The edits, which are of one operator; none for listed mutants.
    edits: Vec<Edit>,
    semantics: Semantics,
    /// The nodes that it may change; `None` for every one.
    only: Option<&'n [&'n Node]>,
}

impl<'n> Edited<'n> {
    pub fn new(hypothesis: Hypothesis, only: Option<&'n [&'n Node]>) -> Self {
        let (edits, mut semantics) = match hypothesis {
            Hypothesis::Listed(combination) => (Vec::new(), Semantics::of(combination.mutants)),
            Hypothesis::Both(pair) => (Vec::new(), Semantics::of(pair.mutants())),
            Hypothesis::Composed(edit) => (vec![edit], Semantics::default()),
            Hypothesis::Pair(pair) => (pair.edits().to_vec(), Semantics::default()),
        };
        for edit in &edits {
            change(&mut semantics, edit.change());
        }
        Self { edits, semantics, only }
    }

    /// The edits, which are of one operator; none for listed mutants.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// The part of the output that is changed; `None` for all of it.
    pub fn region(&self) -> Option<Region> {
        self.edits.iter().find_map(|edit| edit.region())
    }

    /// The semantics of the nodes that it changes.
    pub const fn semantics(&self) -> &Semantics {
        &self.semantics
    }

    /// Whether it changes this node.
    pub fn concerns(&self, node: &Node) -> bool {
        let is_meant = self.only.is_none_or(|only| only.iter().any(|one| one.outputs == node.outputs));
        is_meant && self.edits.first().is_none_or(|edit| Operator::of(&node.op) == Some(edit.operator()))
    }
}

/// Makes those changes that are of semantics.
fn change(semantics: &mut Semantics, change: Change) {
    match change {
        Change::Mutant(mutant) => mutant.apply(semantics),
        Change::Conversion(conversion) => semantics.conversion = conversion,
        Change::Scales(scales) => semantics.scales = scales,
        Change::Numbers(numbers) => semantics.numbers = Some(numbers),
        Change::Outside(outside) => semantics.outside = outside,
        Change::Fill(fill) => semantics.fill = Some(fill),
        Change::Between(between) => semantics.between = between,
        Change::PartialSums(partial) => semantics.partial_sums = Some(partial),
        Change::Reduction(reduction) => semantics.reduction = reduction,
        Change::Attribute(attribute) => semantics.attribute = Some(attribute),
        _ => {}
    }
}
