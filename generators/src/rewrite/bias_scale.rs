use twinfer_case::Case;
use twinfer_onnx::{DataType, Op, Tensor};

use super::edit::is_exact;
use crate::{Choices, power::power_of_two};

/// The most that a bias in steps of its scale may be: single precision holds all of them.
const LARGEST: f64 = (1 << 24) as f64;

/// Makes the scale of an integer bias finer, by a power of two where values are exact, and its integers as much larger.
pub fn apply(case: &mut Case, choices: &mut Choices) -> Option<()> {
    let (bias, scale) = choices.some_of(&integer_biases(case))?.clone();
    let factor = if is_exact(case) {
        power_of_two(-(choices.within(1..=3) as i32))
    } else {
        *choices.one_of(&[0.3, 0.5, 0.75, 1.25, 1.7, 3.0])
    };
    let scales = case.graph.initializer(&scale)?;
    let levels = case.graph.initializer(&bias)?;
    let scaled: Vec<_> = scales.to_f64().iter().map(|scale| scale * factor).collect();
    let leveled: Vec<_> = levels.to_f64().iter().map(|level| (level / factor).round_ties_even()).collect();
    if leveled.iter().any(|level| level.abs() > LARGEST) {
        return None;
    }
    let scaled = Tensor::from_f64(scales.dtype(), scales.shape.clone(), &scaled).ok()?;
    let is_normal = scaled.to_f64().iter().all(|scale| *scale >= least_normal(scaled.dtype()));
    let leveled = Tensor::from_f64(DataType::Int32, levels.shape.clone(), &leveled).ok()?;
    if !is_normal {
        return None;
    }
    *case.graph.initializer_mut(&scale)? = scaled;
    *case.graph.initializer_mut(&bias)? = leveled;
    Some(())
}

/// The initializers of biases that are dequantized, each with that of its scale.
fn integer_biases(case: &Case) -> Vec<(String, String)> {
    let graph = &case.graph;
    let biases = graph.nodes.iter().filter(|node| node.op.is_convolution()).filter_map(|node| {
        let dequantizer = graph.producer(node.input(2)?)?;
        let is_integer = graph.initializer(dequantizer.input(0)?)?.dtype() == DataType::Int32;
        let is_alone = graph.readers(dequantizer.input(1)?).count() == 1;
        let suits = matches!(dequantizer.op, Op::DequantizeLinear(_)) && is_integer && is_alone;
        suits.then(|| Some((dequantizer.inputs[0].clone(), dequantizer.inputs.get(1)?.clone())))?
    });
    biases.collect()
}

const fn least_normal(dtype: DataType) -> f64 {
    power_of_two(if matches!(dtype, DataType::Float16) { -14 } else { -126 })
}
