//! Nodes whose operator an edit changes.

use twinfer_onnx::Node;

use super::Evaluator;
use crate::{Unknown, edit::groups, edited::Edited, elementwise::broadcast, value::Value};

/// The names of changed inputs; no value of a graph has them, because these are not empty before the colon.
const CHANGED: [&str; 16] =
    [":0", ":1", ":2", ":3", ":4", ":5", ":6", ":7", ":8", ":9", ":10", ":11", ":12", ":13", ":14", ":15"];

impl<'a> Evaluator<'a> {
    /// The output of a node that `edited` changes.
    pub(super) fn edited(&mut self, edited: &'a Edited<'a>, node: &Node) -> Result<Value, Unknown> {
        let stated = match edited.region() {
            Some(_) => Some(self.stated(node)?),
            None => None,
        };
        let semantics = std::mem::replace(&mut self.semantics, edited.semantics());
        let changed = self.changed(edited, node);
        self.semantics = semantics;
        let mut changed = changed?;
        for edit in edited.edits() {
            edit.change().apply_to_output(edit.operator(), &node.op, &mut changed);
        }
        match (edited.edits(), edited.region(), stated) {
            ([edit], Some(region), Some(stated)) if stated.shape == changed.shape => {
                match region.places(edit.operator(), &stated.shape, groups(&node.op)) {
                    Some(is_changed) => Ok(stated.merged(&changed, &is_changed)),
                    None => Ok(stated),
                }
            }
            _ => Ok(changed),
        }
    }

    /// The output of a node for changed inputs.
    fn changed(&mut self, edited: &Edited<'_>, node: &Node) -> Result<Value, Unknown> {
        let changes_inputs = edited.edits().iter().any(|edit| edit.change().is_of_inputs());
        if !changes_inputs || node.inputs.len() > CHANGED.len() {
            return self.stated(node);
        }
        let mut inputs: Vec<Option<Value>> =
            node.inputs.iter().map(|name| self.values.get(name.as_str()).cloned()).collect();
        for edit in edited.edits() {
            if edit.change().is_of_broadcast() {
                let shape = self.shape(node);
                inputs.iter_mut().flatten().for_each(|input| *input = broadcast(input, &shape));
            }
            edit.change().apply_to_inputs(edit.operator(), &node.op, &mut inputs);
        }
        let mut changed = node.clone();
        for ((name, input), value) in CHANGED.into_iter().zip(&mut changed.inputs).zip(inputs) {
            if let Some(value) = value {
                name.clone_into(input);
                self.values.insert(name, value);
            }
        }
        self.stated(&changed)
    }
}
