use twinfer_case::Case;

use super::edit::give;
use crate::Choices;

/// Gives one to three values that nodes compute, beside the output.
pub fn apply(case: &mut Case, choices: &mut Choices) -> Option<()> {
    for _ in 0..*choices.one_of(&[1, 1, 2, 3]) {
        let computed = case.graph.nodes.iter().flat_map(|node| &node.outputs);
        let is_inside = |name: &&String| case.graph.outputs.iter().all(|output| output.name != **name);
        let inside: Vec<_> = computed.filter(is_inside).cloned().collect();
        give(case, choices.some_of(&inside)?)?;
    }
    Some(())
}
