use twinfer_case::Case;
use twinfer_onnx::{Initializer, Op, Tensor};

use super::edit::compute;
use crate::Choices;

/// Computes a scale or a zero point, which was an initializer: by Identity, or a scale as the sum of its halves.
pub fn apply(case: &mut Case, choices: &mut Choices) -> Option<()> {
    let parameters =
        case.graph.nodes.iter().flat_map(|node| {
            places(&node.op).iter().map(|(place, is_scale)| (node.input(*place), *is_scale))
        });
    let constant = |(name, is_scale): (Option<&str>, bool)| {
        let mut stored = case.graph.initializers.iter().map(|initializer| initializer.name.as_str());
        let name = stored.find(|stored| Some(*stored) == name)?;
        Some((name.to_owned(), is_scale))
    };
    let parameters: Vec<_> = parameters.filter_map(constant).collect();
    let (name, is_scale) = choices.some_of(&parameters)?.clone();
    if is_scale && choices.percent(40) {
        let halves = halves(case.graph.initializer(&name)?)?;
        let half = format!("{name}_half");
        compute(case, Op::Add, vec![half.clone(), half.clone()], &name);
        case.graph.initializers.retain(|initializer| initializer.name != name);
        case.graph.initializers.push(Initializer { name: half, tensor: halves });
    } else {
        compute(case, Op::Identity, vec![name.clone()], &name);
    }
    Some(())
}

/// The places of scales and zero points among the inputs of an operator, and whether each is that of a scale.
const fn places(op: &Op) -> &'static [(usize, bool)] {
    match op {
        Op::QuantizeLinear(_) | Op::DequantizeLinear(_) => &[(1, true), (2, false)],
        Op::ConvInteger(_) => &[(2, false), (3, false)],
        Op::QLinearConv(_) => &[(1, true), (2, false), (4, true), (5, false), (6, true), (7, false)],
        _ => &[],
    }
}

/// Half of each element; `None` if one of them rounds.
fn halves(tensor: &Tensor) -> Option<Tensor> {
    let elements = tensor.to_f64();
    let halves: Vec<_> = elements.iter().map(|element| element / 2.0).collect();
    let halves = Tensor::from_f64(tensor.dtype(), tensor.shape.clone(), &halves).ok()?;
    let is_exact =
        halves.to_f64().iter().zip(&elements).all(|(half, whole)| (half * 2.0).to_bits() == whole.to_bits());
    is_exact.then_some(halves)
}
