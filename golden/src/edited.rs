use twinfer_onnx::Node;

use crate::{
    edit::{Change, Edit, Operator},
    hypothesis::Hypothesis,
    semantics::Semantics,
};

/// A hypothesis, and the semantics of the nodes that it changes.
#[derive(Debug)]
pub struct Edited<'n> {
    /// `None` for listed mutants.
    edit: Option<Edit>,
    semantics: Semantics,
    /// The nodes that it may change; `None` for every one.
    only: Option<&'n [&'n Node]>,
}

impl<'n> Edited<'n> {
    pub fn new(hypothesis: Hypothesis, only: Option<&'n [&'n Node]>) -> Self {
        match hypothesis {
            Hypothesis::Listed(combination) => {
                Self { edit: None, semantics: Semantics::of(combination.mutants), only }
            }
            Hypothesis::Composed(edit) => {
                let mut semantics = Semantics::default();
                match edit.change() {
                    Change::Mutant(mutant) => mutant.apply(&mut semantics),
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
                Self { edit: Some(edit), semantics, only }
            }
        }
    }

    pub const fn edit(&self) -> Option<Edit> {
        self.edit
    }

    /// The semantics of the nodes that it changes.
    pub const fn semantics(&self) -> &Semantics {
        &self.semantics
    }

    /// Whether it changes this node.
    pub fn concerns(&self, node: &Node) -> bool {
        let is_meant = self.only.is_none_or(|only| only.iter().any(|one| one.outputs == node.outputs));
        is_meant && self.edit.is_none_or(|edit| Operator::of(&node.op) == Some(edit.operator()))
    }
}
