use twinfer_case::Case;
use twinfer_onnx::{DataType, DequantizeLinear, Graph, Op, QuantizeLinear, Tensor, infer_shapes};

use super::edit::{add_initializer, is_exact};
use crate::Choices;

/// The first operator set with one scale per position along an axis.
const PER_AXIS: i64 = 13;

/// Gives the quantizer of an activation a scale per channel: half or the whole of the one that it had where values are exact,
/// otherwise up to twice as much.
pub fn apply(case: &mut Case, choices: &mut Choices) -> Option<()> {
    let graph = &case.graph;
    let shapes: Vec<_> = case.runs.first()?.inputs.iter().map(|source| source.shape().to_vec()).collect();
    let inferred = infer_shapes(graph, &shapes).ok()?;
    let pairs = activations(graph);
    if graph.opset < PER_AXIS || case.request.precision != DataType::Float {
        return None;
    }
    let (quantizer, dequantizer) = *choices.some_of(&pairs)?;
    let node = &graph.nodes[quantizer];
    let shape = &inferred.get(node.input(0)?)?.shape;
    let (channels, rank) = (*shape.get(1)?, shape.len() as i64);
    let scale = graph.initializer(node.input(1)?)?.to_f64()[0];
    let factors: &[f64] = if is_exact(case) { &[0.5, 1.0] } else { &[0.5, 0.8, 1.0, 1.3, 2.0] };
    let scales: Vec<_> = (0..channels).map(|_| scale * choices.one_of(factors)).collect();
    let scales = Tensor::from_f64(DataType::Float, vec![channels], &scales).ok()?;
    let zero_points = match node.input(2) {
        Some(name) => {
            let zero_point = graph.initializer(name)?;
            let each = vec![zero_point.to_f64()[0]; channels];
            Some(Tensor::from_f64(zero_point.dtype(), vec![channels], &each).ok()?)
        }
        None => None,
    };
    let name = node.name.clone();
    let mut parameters = vec![add_initializer(case, format!("{name}_scales"), scales)];
    parameters.extend(zero_points.map(|one| add_initializer(case, format!("{name}_zero_points"), one)));
    let axis = *choices.one_of(&[None, Some(1), Some(1 - rank)]);
    for place in [quantizer, dequantizer] {
        let node = &mut case.graph.nodes[place];
        node.inputs.truncate(1);
        node.inputs.extend(parameters.iter().cloned());
        node.op = match node.op {
            Op::QuantizeLinear(_) => Op::QuantizeLinear(QuantizeLinear { axis }),
            _ => Op::DequantizeLinear(DequantizeLinear { axis }),
        };
    }
    case.graph.prune();
    Some(())
}

/// The places of each `QuantizeLinear` of something computed or fed, with one scale, and of the `DequantizeLinear` that alone reads it.
fn activations(graph: &Graph) -> Vec<(usize, usize)> {
    let pairs = graph.nodes.iter().enumerate().filter_map(|(place, node)| {
        let Op::QuantizeLinear(_) = node.op else { return None };
        let parameters = [node.input(1), node.input(2)];
        let is_stored =
            parameters.iter().flatten().all(|name| graph.initializer(name).is_some_and(|one| one.len() == 1));
        let is_constant = graph.initializer(node.input(0)?).is_some();
        let integers = node.outputs.first()?;
        let reads = |(place, reader): (usize, &twinfer_onnx::Node)| {
            let is_dequantizer =
                matches!(reader.op, Op::DequantizeLinear(_)) && reader.input(0) == Some(integers);
            is_dequantizer.then_some(place)
        };
        let is_alone = graph.readers(integers).count() == 1;
        let dequantizer = graph.nodes.iter().enumerate().find_map(reads)?;
        let is_given = graph.outputs.iter().any(|output| output.name == *integers);
        (is_stored && !is_constant && is_alone && !is_given).then_some((place, dequantizer))
    });
    pairs.collect()
}
