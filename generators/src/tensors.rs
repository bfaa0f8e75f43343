use twinfer_onnx::{DataType, Tensor};

use crate::power::power_of_two;

pub fn on_grid(dtype: DataType, shape: Vec<usize>, steps: &[i64], exponent: i32) -> Tensor {
    let step = power_of_two(exponent);
    let values: Vec<_> = steps.iter().map(|steps| *steps as f64 * step).collect();
    made(dtype, shape, &values)
}

pub fn made(dtype: DataType, shape: Vec<usize>, values: &[f64]) -> Tensor {
    Tensor::from_f64(dtype, shape, values).expect("one value was drawn for each element")
}
