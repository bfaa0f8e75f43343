use crate::value::Value;

/// The value with its axes in another order: each axis of the result is that of `order` of `x`.
pub fn transpose(x: &Value, order: &[usize]) -> Value {
    let shape: Vec<usize> = order.iter().map(|axis| x.shape[*axis]).collect();
    let stride = |axis: usize| x.shape[axis + 1..].iter().product::<usize>();
    let mut places = vec![0];
    for (axis, extent) in order.iter().zip(&shape) {
        let stride = stride(*axis);
        places =
            places.iter().flat_map(|outer| (0..*extent).map(move |index| outer + index * stride)).collect();
    }
    let places: Vec<_> = places.into_iter().map(Some).collect();
    x.gathered(&shape, &places)
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{DataType, Tensor};

    use super::*;
    use crate::Arithmetic;

    #[test]
    fn elements_follow_their_axes() {
        let elements: Vec<f64> = (0..6).map(f64::from).collect();
        let x = Tensor::from_f64(DataType::Float, vec![1, 2, 3], &elements).expect("six elements");
        let x = Value::given(&x, Arithmetic::STRICT);
        let transposed = transpose(&x, &[2, 0, 1]);
        assert_eq!(transposed.shape, [3, 1, 2]);
        assert_eq!(transposed.elements, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
        assert!(transposed.has_signed_zeros && transposed.grid == x.grid);
    }
}
