use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{DataType, Tensor};

use crate::fit::Frame;

/// Simpler elements for a tensor, the simplest first.
const FORMS: &[fn(usize, f64) -> f64] = &[
    |_, _| 0.0,
    |place, _| if place == 0 { 1.0 } else { 0.0 },
    |_, _| 1.0,
    |place, _| (place + 1) as f64,
    |place, _| (place % 7 + 1) as f64,
    |_, value| if value.is_finite() { value.round().clamp(-9.0, 9.0) } else { 1.0 },
    |_, value| (value / 2.0).trunc(),
];

/// All tensors in one of the simpler forms, then each tensor in each of them, then single elements at zero.
pub fn simplify(case: &Case, _: &Frame) -> Vec<Case> {
    let count = tensors(&mut case.clone()).len();
    let all = FORMS[2..].iter().map(|form| {
        let mut case = case.clone();
        for tensor in tensors(&mut case) {
            reform(tensor, *form);
        }
        case
    });
    let each = (0..count).flat_map(|place| {
        FORMS.iter().map(move |form| {
            let mut case = case.clone();
            reform(tensors(&mut case).swap_remove(place), *form);
            case
        })
    });
    all.chain(each).chain((0..count).flat_map(|place| zeroed(case, place))).collect()
}

/// The case with every tensor in single precision, where all are of one smaller format that it holds.
pub fn to_float(case: &Case, _: &Frame) -> Vec<Case> {
    let mut wider = case.clone();
    let converted = tensors(&mut wider).into_iter().all(|tensor| {
        let small = matches!(tensor.dtype(), DataType::Float16 | DataType::Bfloat16);
        let floats = Tensor::from_f64(DataType::Float, tensor.shape.clone(), &tensor.to_f64());
        floats.is_ok_and(|floats| {
            *tensor = floats;
            small
        })
    });
    wider.request.precision = DataType::Float;
    for value in wider.graph.inputs.iter_mut().chain(&mut wider.graph.outputs) {
        value.dtype = DataType::Float;
    }
    converted.then_some(wider).into_iter().collect()
}

fn tensors(case: &mut Case) -> Vec<&mut Tensor> {
    let parameters = case.graph.initializers.iter_mut().map(|initializer| &mut initializer.tensor);
    let fed = case.runs.iter_mut().flat_map(|run| &mut run.inputs).filter_map(|source| match source {
        TensorSource::Data(tensor) => Some(tensor),
        TensorSource::Recipe(_) => None,
    });
    parameters.chain(fed).collect()
}

fn reform(tensor: &mut Tensor, form: fn(usize, f64) -> f64) {
    let values: Vec<_> =
        tensor.to_f64().into_iter().enumerate().map(|(place, value)| form(place, value)).collect();
    if let Ok(simpler) = Tensor::from_f64(tensor.dtype(), tensor.shape.clone(), &values) {
        *tensor = simpler;
    }
}

/// The most parts that the nonzero elements of a tensor are cut in.
const MOST_PARTS: usize = 64;

/// The case with one half of the nonzero elements of a tensor at zero, then one quarter, and so on down to one.
fn zeroed(case: &Case, place: usize) -> Vec<Case> {
    let values = tensors(&mut case.clone())[place].to_f64();
    let nonzero: Vec<_> = (0..values.len()).filter(|element| values[*element] != 0.0).collect();
    let mut size = nonzero.len().div_ceil(2);
    let mut candidates = Vec::new();
    while size > 0 && nonzero.len() > 1 && nonzero.len().div_ceil(size) <= MOST_PARTS {
        for chunk in nonzero.chunks(size) {
            let mut values = values.clone();
            for element in chunk {
                values[*element] = 0.0;
            }
            let mut case = case.clone();
            let tensor = tensors(&mut case).swap_remove(place);
            if let Ok(simpler) = Tensor::from_f64(tensor.dtype(), tensor.shape.clone(), &values) {
                *tensor = simpler;
            }
            candidates.push(case);
        }
        size /= 2;
    }
    candidates
}
