//! Optimization profiles: the range of shapes that an engine takes, spanned by a case's runs.

use nvinfer::{Builder, BuilderConfig, NetworkDefinition, OptProfileSelector};
use twinfer_case::Task;
use twinfer_onnx::{Graph, Tensor, infer_shapes};

use super::plan_error::PlanError;
use crate::options::Optimum;

/// Adds a profile that spans the runs of `task`, if the network has dynamic inputs.
pub fn add(
    builder: &Builder,
    config: &BuilderConfig<'_>,
    network: &NetworkDefinition<'_>,
    task: &Task,
    optimum: Optimum,
) -> Result<(), PlanError> {
    let mut spans = Vec::new();
    for (index, input) in network.inputs()?.iter().enumerate() {
        let name = input.name()?;
        let declared = input.shape()?.unwrap_or_default();
        let span = Span::over(task.runs.iter().filter_map(|run| run.get(index)))
            .filter(|span| span.min.len() == declared.len())
            .ok_or_else(|| {
                PlanError::Inputs(format!("no run fits the input {name} of shape {declared:?}"))
            })?;
        spans.push((name, declared, span));
    }
    if !spans.iter().any(|(_, declared, _)| declared.contains(&-1)) {
        return Ok(());
    }
    let optimal: Vec<Vec<i64>> =
        spans.iter().map(|(_, declared, span)| span.optimum(optimum, declared)).collect();
    let is_taken = optimum != Optimum::Beyond || is_valid(&task.model, &optimal);
    let profile = builder.create_optimization_profile()?;
    for ((name, declared, span), optimal) in spans.into_iter().zip(optimal) {
        if declared.contains(&-1) {
            let span = if is_taken { span.with(optimal) } else { span };
            profile.set_dimensions(&name, OptProfileSelector::Min, &span.min)?;
            profile.set_dimensions(&name, OptProfileSelector::Opt, &span.opt)?;
            profile.set_dimensions(&name, OptProfileSelector::Max, &span.max)?;
        }
    }
    config.add_optimization_profile(&profile)?;
    Ok(())
}

/// Whether a model takes inputs of these shapes.
fn is_valid(model: &[u8], shapes: &[Vec<i64>]) -> bool {
    let extents: Option<Vec<Vec<usize>>> = shapes
        .iter()
        .map(|shape| shape.iter().map(|&extent| usize::try_from(extent).ok()).collect())
        .collect();
    let graph = Graph::decode(model);
    graph.is_ok_and(|graph| extents.is_some_and(|extents| infer_shapes(&graph, &extents).is_ok()))
}

/// The extents that one input has over all runs.
#[derive(Debug, PartialEq, Eq)]
struct Span {
    min: Vec<i64>,
    opt: Vec<i64>,
    max: Vec<i64>,
}

impl Span {
    /// The shape for which an engine is optimal, of an input that declares its dynamic extents as −1.
    fn optimum(&self, optimum: Optimum, declared: &[i64]) -> Vec<i64> {
        match optimum {
            Optimum::First => self.opt.clone(),
            Optimum::Smallest => self.min.clone(),
            Optimum::Largest => self.max.clone(),
            Optimum::Beyond => {
                let beyond =
                    |(declared, largest): (&i64, &i64)| if *declared < 0 { 2 * largest } else { *largest };
                declared.iter().zip(&self.max).map(beyond).collect()
            }
        }
    }

    /// The span with another optimum, which it includes.
    fn with(self, opt: Vec<i64>) -> Self {
        let max = self.max.iter().zip(&opt).map(|(one, other)| *one.max(other)).collect();
        Self { opt, max, ..self }
    }

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
    fn optimum_is_where_the_variant_wants_it() {
        let span = || Span::over([tensor(&[2, 3, 5]), tensor(&[1, 3, 7])].iter()).unwrap();
        let optimum = |optimum| span().optimum(optimum, &[-1, 3, -1]);
        assert_eq!(optimum(Optimum::First), [2, 3, 5]);
        assert_eq!(optimum(Optimum::Smallest), [1, 3, 5]);
        assert_eq!(optimum(Optimum::Largest), [2, 3, 7]);
        assert_eq!(optimum(Optimum::Beyond), [4, 3, 14]);
        let beyond = span().with(optimum(Optimum::Beyond));
        assert_eq!(beyond, Span { min: vec![1, 3, 5], opt: vec![4, 3, 14], max: vec![4, 3, 14] });
    }

    #[test]
    fn runs_of_different_ranks_have_no_span() {
        assert_eq!(Span::over([tensor(&[1, 2]), tensor(&[1])].iter()), None);
        assert_eq!(Span::over([].iter()), None);
    }
}
