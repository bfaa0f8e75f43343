use twinfer_onnx::Node;

use crate::{
    edit::{Change, Edit, Operator},
    semantics::Semantics,
};

/// An edit, and the semantics of the nodes that it changes.
#[derive(Debug)]
pub struct Edited<'n> {
    edit: Edit,
    semantics: Semantics,
    /// The node that it changes; `None` for every one of the operator.
    only: Option<&'n Node>,
}

impl<'n> Edited<'n> {
    pub fn new(edit: Edit, only: Option<&'n Node>) -> Self {
        let mut semantics = Semantics::default();
        match edit.change() {
            Change::Mutant(mutant) => mutant.apply(&mut semantics),
            Change::Conversion(conversion) => semantics.conversion = conversion,
            Change::Scales(scales) => semantics.scales = scales,
            Change::Numbers(numbers) => semantics.numbers = Some(numbers),
            Change::Outside(outside) => semantics.outside = outside,
            _ => {}
        }
        Self { edit, semantics, only }
    }

    pub const fn edit(&self) -> Edit {
        self.edit
    }

    /// The semantics of the nodes that it changes.
    pub const fn semantics(&self) -> &Semantics {
        &self.semantics
    }

    /// Whether it changes this node.
    pub fn concerns(&self, node: &Node) -> bool {
        let is_meant = self.only.is_none_or(|only| only.outputs == node.outputs);
        is_meant && Operator::of(&node.op) == Some(self.edit.operator())
    }
}
