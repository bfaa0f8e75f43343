use std::iter::successors;

use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{DataType, Tensor};

use super::{bounds::orders, candidates::Candidates, scales::are_positive};
use crate::fit::Baseline;

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

/// All tensors in one of the simpler forms, then each tensor in each of them, then single elements at zero. Where all scales of quantizers
/// are positive they stay so: ONNX says nothing about others, and a finding that does not depend on values would end with them. The bounds
/// of a Clip stay in order, or out of it: a backend that is wrong about others has another bug.
pub fn simplify<'a>(case: &'a Case, _: &'a Baseline) -> Candidates<'a> {
    let graph = &case.graph;
    let count = graph.initializers.len() + case.runs.iter().map(|run| run.inputs.len()).sum::<usize>();
    let all = FORMS[2..].iter().map(|form| {
        let mut case = case.clone();
        for tensor in tensors(&mut case) {
            reform(tensor, *form);
        }
        case
    });
    let each = (0..count).flat_map(move |place| {
        FORMS.iter().filter_map(move |form| edited(case, place, |tensor| reform(tensor, *form)))
    });
    let candidates = all.chain(each).chain((0..count).flat_map(move |place| zeroed(case, place)));
    let (has_positive_scales, orders_of_bounds) = (are_positive(case), orders(case));
    Box::new(candidates.filter(move |candidate| {
        (!has_positive_scales || are_positive(candidate)) && orders(candidate) == orders_of_bounds
    }))
}

/// The case with one of its tensors edited.
fn edited(case: &Case, place: usize, edit: impl Fn(&mut Tensor)) -> Option<Case> {
    let mut case = case.clone();
    edit(tensors(&mut case).into_iter().nth(place)?);
    Some(case)
}

/// The case with every tensor in single precision, where all are of one smaller format that it holds.
pub fn to_float<'a>(case: &'a Case, _: &'a Baseline) -> Candidates<'a> {
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
    Box::new(converted.then_some(wider).into_iter())
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
fn zeroed(case: &Case, place: usize) -> impl Iterator<Item = Case> + '_ {
    let tensor = constants(case).chain(fed(case)).nth(place);
    let values = tensor.map(Tensor::to_f64).unwrap_or_default();
    let nonzero: Vec<_> = (0..values.len()).filter(|element| values[*element] != 0.0).collect();
    parts(&nonzero).into_iter().filter_map(move |part| {
        edited(case, place, |tensor| {
            let mut values = tensor.to_f64();
            for element in &part {
                values[*element] = 0.0;
            }
            if let Ok(simpler) = Tensor::from_f64(tensor.dtype(), tensor.shape.clone(), &values) {
                *tensor = simpler;
            }
        })
    })
}

/// Both halves, all quarters and so on of some elements, as long as they are not too many.
fn parts(elements: &[usize]) -> Vec<Vec<usize>> {
    let sizes =
        successors(Some(elements.len().div_ceil(2)), |size| Some(size / 2)).take_while(|size| *size > 0);
    let sizes = sizes.filter(|size| elements.len() > 1 && elements.len().div_ceil(*size) <= MOST_PARTS);
    sizes.flat_map(|size| elements.chunks(size).map(<[_]>::to_vec)).collect()
}

fn constants(case: &Case) -> impl Iterator<Item = &Tensor> {
    case.graph.initializers.iter().map(|initializer| &initializer.tensor)
}

fn fed(case: &Case) -> impl Iterator<Item = &Tensor> {
    case.runs.iter().flat_map(|run| &run.inputs).filter_map(|source| match source {
        TensorSource::Data(tensor) => Some(tensor),
        TensorSource::Recipe(_) => None,
    })
}
