//! Optimization profiles: the range of shapes that an engine takes, spanned by a case's runs.

use nvinfer::{Builder, BuilderConfig, NetworkDefinition, OptProfileSelector};
use twinfer_case::Task;
use twinfer_onnx::Tensor;

use super::plan_error::PlanError;

/// Adds a profile that spans the runs of `task`, if the network has dynamic inputs.
pub fn add(
    builder: &Builder,
    config: &BuilderConfig<'_>,
    network: &NetworkDefinition<'_>,
    task: &Task,
) -> Result<(), PlanError> {
    let inputs = network.inputs()?;
    let profile = builder.create_optimization_profile()?;
    let mut is_dynamic = false;
    for (index, input) in inputs.iter().enumerate() {
        let name = input.name()?;
        let declared = input.shape()?.unwrap_or_default();
        if !declared.contains(&-1) {
            continue;
        }
        is_dynamic = true;
        let span = Span::over(task.runs.iter().filter_map(|run| run.get(index)))
            .filter(|span| span.min.len() == declared.len())
            .ok_or_else(|| {
                PlanError::Inputs(format!("no run fits the input {name} of shape {declared:?}"))
            })?;
        profile.set_dimensions(&name, OptProfileSelector::Min, &span.min)?;
        profile.set_dimensions(&name, OptProfileSelector::Opt, &span.opt)?;
        profile.set_dimensions(&name, OptProfileSelector::Max, &span.max)?;
    }
    if is_dynamic {
        config.add_optimization_profile(&profile)?;
    }
    Ok(())
}

/// The extents that one input has over all runs.
#[derive(Debug, PartialEq, Eq)]
struct Span {
    min: Vec<i64>,
    opt: Vec<i64>,
    max: Vec<i64>,
}

impl Span {
    /// The span of the runs' shapes, optimal at the first; `None` without a run or if ranks differ.
    fn over<'a>(mut runs: impl Iterator<Item = &'a Tensor>) -> Option<Self> {
        let extents =
            |tensor: &Tensor| -> Vec<i64> { tensor.shape.iter().map(|&extent| extent as i64).collect() };
        let opt = extents(runs.next()?);
        let mut span = Self { min: opt.clone(), max: opt.clone(), opt };
        for run in runs {
            let shape = extents(run);
            if shape.len() != span.opt.len() {
                return None;
            }
            for (axis, &extent) in shape.iter().enumerate() {
                span.min[axis] = span.min[axis].min(extent);
                span.max[axis] = span.max[axis].max(extent);
            }
        }
        Some(span)
    }
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::DataType;

    use super::*;

    fn tensor(shape: &[usize]) -> Tensor {
        let count = shape.iter().product();
        Tensor::from_f64(DataType::Float, shape.to_vec(), &vec![0.0; count]).unwrap()
    }

    #[test]
    fn a_profile_spans_every_run_and_is_optimal_for_the_first() {
        let runs = [tensor(&[2, 3, 5]), tensor(&[1, 3, 7]), tensor(&[2, 3, 5])];
        let span = Span::over(runs.iter()).unwrap();
        assert_eq!(span, Span { min: vec![1, 3, 5], opt: vec![2, 3, 5], max: vec![2, 3, 7] });
    }

    #[test]
    fn runs_of_different_ranks_have_no_span() {
        assert_eq!(Span::over([tensor(&[1, 2]), tensor(&[1])].iter()), None);
        assert_eq!(Span::over([].iter()), None);
    }
}
