use super::inputs::{FLOATS, Inputs, same_element_type};
use crate::{
    DataType::{self, Int8, Int32, Int64, Uint8},
    TensorType,
    rule::{Broken, Rule, require},
};

pub fn infer(inputs: &Inputs) -> Result<TensorType, Broken> {
    let ([a, b], []) = inputs.take()?;
    same_element_type("A and B", a, b)?;
    let narrow: &[DataType] = if inputs.opset() >= 14 { &[Int8, Uint8] } else { &[] };
    inputs.element_type("A", a.dtype, &[FLOATS, &[Int32, Int64], narrow].concat(), 13)?;
    Ok(TensorType { dtype: a.dtype, shape: broadcast(&a.shape, &b.shape)? })
}

/// The shape that two shapes broadcast to (onnx/docs/Broadcasting.md, multidirectional).
pub fn broadcast(a: &[usize], b: &[usize]) -> Result<Vec<usize>, Broken> {
    let rank = a.len().max(b.len());
    let from_right = |shape: &[usize], place: usize| match (shape.len() + place).checked_sub(rank) {
        Some(place) => shape[place],
        None => 1,
    };
    (0..rank)
        .map(|place| {
            let (a_extent, b_extent) = (from_right(a, place), from_right(b, place));
            let compatible = a_extent == b_extent || a_extent == 1 || b_extent == 1;
            require(compatible, Rule::Broadcast, || format!("{a:?} and {b:?}"))?;
            Ok(if a_extent == 1 { b_extent } else { a_extent })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_of_one_stretch_even_to_zero() {
        assert_eq!(broadcast(&[2, 1, 3], &[4, 1]), Ok(vec![2, 4, 3]));
        assert_eq!(broadcast(&[], &[2, 0]), Ok(vec![2, 0]));
        assert_eq!(broadcast(&[1], &[0]), Ok(vec![0]));
    }

    #[test]
    fn other_extents_must_agree() {
        assert_eq!(broadcast(&[2, 3], &[2, 1, 2]).map_err(|broken| broken.rule), Err(Rule::Broadcast));
    }
}
