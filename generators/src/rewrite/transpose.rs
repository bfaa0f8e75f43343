use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{Dim, Node, Op, Transpose, infer_shapes};

use crate::{BATCH, Choices};

/// Feeds the first input or gives the output with its axes in another order, or permutes a value and restores it.
pub fn apply(case: &mut Case, choices: &mut Choices) -> Option<()> {
    match choices.below(3) {
        0 => feed(case, choices),
        1 => give(case, choices),
        _ => permute(case, choices),
    }
}

/// Feeds the first input in another order.
fn feed(case: &mut Case, choices: &mut Choices) -> Option<()> {
    let input = case.graph.inputs.first_mut()?;
    let dims = input.shape.as_mut()?;
    let order = order(dims.len(), choices)?;
    *dims = order.iter().map(|axis| renamed(&dims[*axis], "fed")).collect();
    let fed = format!("{}_fed", input.name);
    let x = std::mem::replace(&mut input.name, fed.clone());
    for run in &mut case.runs {
        let TensorSource::Recipe(recipe) = run.inputs.first_mut()? else { return None };
        recipe.shape = order.iter().map(|axis| recipe.shape[*axis]).collect();
    }
    let node = transpose(format!("permute_{fed}"), &inverse(&order), fed, x);
    let behind_constants = case.graph.nodes.iter().take_while(|node| matches!(node.op, Op::Constant(_)));
    let place = behind_constants.count();
    case.graph.nodes.insert(place, node);
    Some(())
}

/// Gives the first output in another order.
fn give(case: &mut Case, choices: &mut Choices) -> Option<()> {
    let output = case.graph.outputs.first_mut()?;
    let dims = output.shape.as_mut()?;
    let order = order(dims.len(), choices)?;
    *dims = order.iter().map(|axis| renamed(&dims[*axis], "given")).collect();
    let permuted = format!("{}_given", output.name);
    let y = std::mem::replace(&mut output.name, permuted.clone());
    case.graph.nodes.push(transpose(format!("permute_{permuted}"), &order, y, permuted));
    Some(())
}

/// An extent by another name, but for the batch, which has one name everywhere: the value that is permuted may be given too.
fn renamed(dim: &Dim, suffix: &str) -> Dim {
    match dim {
        Dim::Symbolic(name) if name != BATCH => Dim::Symbolic(format!("{name}_{suffix}")),
        dim => dim.clone(),
    }
}

/// Permutes a value that is read inside the graph and restores it, in front of all that reads it or around one elementwise operator.
fn permute(case: &mut Case, choices: &mut Choices) -> Option<()> {
    let graph = &case.graph;
    let shapes: Vec<_> = case.runs.first()?.inputs.iter().map(|source| source.shape().to_vec()).collect();
    let inferred = infer_shapes(graph, &shapes).ok()?;
    let rank = |name: &str| inferred.get(name).map_or(0, |found| found.shape.len());
    let is_computed = |node: &&Node| !matches!(node.op, Op::Constant(_)) && rank(&node.outputs[0]) > 2;
    let values: Vec<_> = graph
        .nodes
        .iter()
        .filter(is_computed)
        .map(|node| node.outputs[0].clone())
        .filter(|name| graph.readers(name).next().is_some())
        .filter(|name| graph.producer(&format!("{name}_permuted")).is_none())
        .collect();
    let name = choices.some_of(&values)?.clone();
    let order = order(rank(&name), choices)?;
    let (permuted, restored) = (format!("{name}_permuted"), format!("{name}_restored"));
    let first = graph.nodes.iter().position(|node| node.inputs.contains(&name))?;
    let is_around = is_elementwise(&graph.nodes[first].op) && choices.percent(50);
    let there = transpose(format!("permute_{name}"), &order, name.clone(), permuted.clone());
    let back = |x: String, y: String| transpose(format!("restore_{name}"), &inverse(&order), x, y);
    let nodes = &mut case.graph.nodes;
    if is_around {
        let node = &mut nodes[first];
        node.inputs[0] = permuted;
        let result = std::mem::replace(&mut node.outputs[0], restored.clone());
        nodes.insert(first + 1, back(restored, result));
        nodes.insert(first, there);
    } else {
        let readers = nodes.iter_mut().flat_map(|node| &mut node.inputs);
        readers.filter(|input| **input == name).for_each(|input| input.clone_from(&restored));
        nodes.splice(first..first, [there, back(permuted, restored)]);
    }
    Some(())
}

/// Whether an operator of one input changes each element by itself.
const fn is_elementwise(op: &Op) -> bool {
    matches!(op, Op::HardSwish | Op::Identity | Op::LeakyRelu(_) | Op::Relu | Op::Sigmoid)
}

/// The channels behind all others as often as any other order than the given one; `None` without a spatial axis.
fn order(rank: usize, choices: &mut Choices) -> Option<Vec<usize>> {
    if rank < 3 {
        return None;
    }
    let mut order: Vec<_> = std::iter::once(0).chain(2..rank).chain([1]).collect();
    if choices.percent(50) {
        choices.shuffle(&mut order);
    }
    Some(order)
}

fn inverse(order: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; order.len()];
    for (place, axis) in order.iter().enumerate() {
        inverse[*axis] = place;
    }
    inverse
}

/// A node that gives `y` with the axes of `x` in this order; the attribute is left out where it has its default.
fn transpose(name: String, order: &[usize], x: String, y: String) -> Node {
    let is_default = order.iter().rev().copied().eq(0..order.len());
    let perm = (!is_default).then(|| order.iter().map(|axis| *axis as i64).collect());
    Node { name, op: Op::Transpose(Transpose { perm }), inputs: vec![x], outputs: vec![y] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Distribution, Family};

    #[test]
    fn orders_and_their_inverses_restore_the_axes() {
        let mut choices = Choices::of_index(22, 0);
        for rank in 3..=5 {
            for _ in 0..50 {
                let order = order(rank, &mut choices).expect("there is a spatial axis");
                let restored: Vec<_> = inverse(&order).iter().map(|place| order[*place]).collect();
                assert_eq!(restored, (0..rank).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn permuted_cases_are_valid_and_have_the_shapes_of_before() {
        let stream = Family::Conv.stream(Distribution::Baseline, 22);
        let mut choices = Choices::of_index(22, 1);
        let mut permuted = 0;
        for mut case in (0..300).map(|index| stream.case(index)) {
            permuted += usize::from(apply(&mut case, &mut choices).is_some());
            for run in &case.runs {
                let shapes: Vec<_> = run.inputs.iter().map(|source| source.shape().to_vec()).collect();
                infer_shapes(&case.graph, &shapes)
                    .unwrap_or_else(|violation| panic!("{violation}: {case:#?}"));
            }
        }
        assert!(permuted > 200, "{permuted} of 300");
    }
}
