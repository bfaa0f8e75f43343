use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{DataType, Dim, Node, Op, infer_shapes};

use super::edit::is_exact;

/// The most positions over which sums of exact values of 32 bits stay exact: those values leave this much of the significand free.
const MOST_EXACT: usize = 1 << 6;

/// Averages the only output over its positions. Exact values stay exact: an average of them has to be of as many as a power of two.
pub fn apply(case: &mut Case) -> Option<()> {
    let [output] = case.graph.outputs.as_slice() else { return None };
    let is_float = matches!(output.dtype, DataType::Float | DataType::Float16);
    let mut positions = Vec::new();
    for run in &case.runs {
        let shapes: Vec<_> = run.inputs.iter().map(|source: &TensorSource| source.shape().to_vec()).collect();
        let inferred = infer_shapes(&case.graph, &shapes).ok()?;
        let spatial = inferred.get(&output.name)?.shape.get(2..).filter(|spatial| !spatial.is_empty())?;
        positions.push(spatial.iter().product::<usize>());
    }
    let keeps_exact = |count: &usize| count.is_power_of_two() && *count <= MOST_EXACT;
    let stays_exact = output.dtype == DataType::Float && positions.iter().all(keeps_exact);
    if !is_float || is_exact(case) && !stays_exact {
        return None;
    }
    let averaged = format!("{}_averaged", output.name);
    let output = &mut case.graph.outputs[0];
    let x = std::mem::replace(&mut output.name, averaged.clone());
    output.shape.iter_mut().flat_map(|shape| shape.iter_mut().skip(2)).for_each(|dim| *dim = Dim::Fixed(1));
    case.graph.nodes.push(Node {
        name: format!("average_{x}"),
        op: Op::GlobalAveragePool,
        inputs: vec![x],
        outputs: vec![averaged],
    });
    Some(())
}
