//! Special values: NaN, infinities, zeros of either sign, and numbers at the ends of the range.

use twinfer_case::{Case, Recipe, Regime, TensorSource};
use twinfer_onnx::{DataType, Tensor};

use crate::Choices;

/// Makes the inputs of a case special that are not in the exact regime, and in a quarter of all such cases one weight too.
pub fn strew(case: &mut Case, choices: &mut Choices) {
    let mut is_strewn = false;
    for input in case.runs.iter_mut().flat_map(|run| &mut run.inputs) {
        if let TensorSource::Recipe(recipe) = input
            && !matches!(recipe.regime, Regime::Exact { .. } | Regime::Integers { .. })
        {
            recipe.regime = Regime::Special;
            is_strewn = true;
        }
    }
    if is_strewn && choices.percent(25) {
        strew_weights(case, choices);
    }
}

fn strew_weights(case: &mut Case, choices: &mut Choices) {
    let is_weight =
        |tensor: &Tensor| is_float(tensor.dtype()) && tensor.shape.len() > 2 && !tensor.is_empty();
    let initializers = case.graph.initializers.iter_mut().map(|initializer| &mut initializer.tensor);
    let mut weights: Vec<_> = initializers.filter(|tensor| is_weight(tensor)).collect();
    if weights.is_empty() {
        return;
    }
    let chosen = choices.below(weights.len());
    let weight = &mut *weights[chosen];
    let place = choices.below(weight.len());
    let recipe =
        Recipe { dtype: weight.dtype(), shape: vec![64], regime: Regime::Special, seed: choices.seed() };
    let drawn = recipe.materialize().expect("64 elements are few").to_f64();
    let special = drawn.into_iter().find(|element| !element.is_normal()).unwrap_or(f64::INFINITY);
    let mut elements = weight.to_f64();
    elements[place] = special;
    *weight = Tensor::from_f64(weight.dtype(), weight.shape.clone(), &elements).expect("the same shape");
}

const fn is_float(dtype: DataType) -> bool {
    matches!(dtype, DataType::Float | DataType::Float16 | DataType::Bfloat16 | DataType::Double)
}
