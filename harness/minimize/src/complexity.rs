use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{AutoPad, BatchNormalization, DataType, Dim, Op, Tensor, Window};

/// How complex a case is for a reader, compared field by field: earlier fields weigh more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Complexity {
    nodes: usize,
    outputs: usize,
    runs: usize,
    dynamic_axes: usize,
    uncommon_types: usize,
    tensors: usize,
    operations: usize,
    axes: usize,
    input_elements: usize,
    parameter_elements: usize,
    settings: u64,
    attributes: usize,
    fractions: usize,
    nonzeros: usize,
    magnitude: u64,
}

impl Complexity {
    /// The complexity of `case`.
    pub fn of(case: &Case) -> Self {
        let graph = &case.graph;
        let parameters = graph.initializers.iter().map(|initializer| &initializer.tensor);
        let fed = case.runs.iter().flat_map(|run| &run.inputs).filter_map(|source| match source {
            TensorSource::Data(tensor) => Some(tensor),
            TensorSource::Recipe(_) => None,
        });
        let values: Vec<_> = parameters.clone().chain(fed.clone()).map(Values::of).collect();
        let dims = graph.inputs.iter().filter_map(|input| input.shape.as_ref()).flatten();
        Self {
            nodes: graph.nodes.len(),
            outputs: graph.outputs.len(),
            runs: case.runs.len(),
            dynamic_axes: dims.filter(|dim| matches!(dim, Dim::Symbolic(_))).count(),
            uncommon_types: values.iter().filter(|values| values.uncommon).count(),
            tensors: graph.inputs.len() + graph.initializers.len() + empty_inputs(case),
            operations: graph.nodes.iter().filter(|node| node.op != Op::Identity).count(),
            axes: parameters.clone().chain(fed.clone()).map(|tensor| tensor.shape.len()).sum(),
            input_elements: fed.map(Tensor::len).sum(),
            parameter_elements: parameters.map(Tensor::len).sum(),
            settings: graph.nodes.iter().map(|node| settings(&node.op)).sum::<u64>()
                + u64::from(case.request.tf32),
            attributes: graph.nodes.iter().map(|node| attributes(&node.op)).sum(),
            fractions: values.iter().map(|values| values.fractions).sum(),
            nonzeros: values.iter().map(|values| values.nonzeros).sum(),
            magnitude: values.iter().fold(0, |sum, values| sum.saturating_add(values.magnitude)),
        }
    }
}

/// Optional inputs that are left out by an empty name.
fn empty_inputs(case: &Case) -> usize {
    case.graph.nodes.iter().flat_map(|node| &node.inputs).filter(|name| name.is_empty()).count()
}

/// What is to be simplified in the elements of a tensor.
struct Values {
    /// Whether they are of another type than FLOAT.
    uncommon: bool,
    fractions: usize,
    nonzeros: usize,
    magnitude: u64,
}

impl Values {
    fn of(tensor: &Tensor) -> Self {
        let values = tensor.to_f64();
        Self {
            uncommon: tensor.dtype() != DataType::Float,
            fractions: values.iter().filter(|value| value.fract() != 0.0 || !value.is_finite()).count(),
            nonzeros: values.iter().filter(|value| **value != 0.0).count(),
            magnitude: values.iter().fold(0, |sum, value| sum.saturating_add(value.abs().ceil() as u64)),
        }
    }
}

/// How far the attributes of a convolution are from their defaults.
fn settings(op: &Op) -> u64 {
    let Some(window) = op.window() else { return 0 };
    let distance = |entries: Option<&[i64]>, default: i64| {
        entries.into_iter().flatten().map(|entry| entry.abs_diff(default)).fold(0, u64::saturating_add)
    };
    let ones = [window.dilations, window.strides].map(|entries| distance(entries, 1));
    let zeros = [window.pads, window.output_padding, window.output_shape].map(|entries| distance(entries, 0));
    let automatic = u64::from(window.auto_pad() != AutoPad::NotSet);
    let groups = window.group().abs_diff(1);
    ones.into_iter().chain(zeros).chain([automatic, groups]).fold(0, u64::saturating_add)
}

/// How many optional attributes are not in their canonical form: absent, except for `kernel_shape`, which is written.
fn attributes(op: &Op) -> usize {
    let count = |deviations: &[bool]| deviations.iter().filter(|deviates| **deviates).count();
    if let Some(window) = op.window() {
        let Window { dilations, pads, strides, output_padding, output_shape, .. } = window;
        let lists = [dilations, pads, strides, output_padding, output_shape].map(|entries| entries.is_some());
        let [auto_pad, group] = [window.auto_pad.is_some(), window.group.is_some()];
        return count(&lists) + count(&[auto_pad, group, window.kernel_shape.is_none()]);
    }
    match op {
        Op::BatchNormalization(BatchNormalization { epsilon, momentum, training_mode }) => {
            count(&[epsilon.is_some(), momentum.is_some(), training_mode.is_some()])
        }
        _ => 0,
    }
}
