use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{AutoPad, BatchNormalization, Conv, ConvTranspose, DataType, Dim, Op, Tensor};

/// How complex a case is for a person who reads it; what comes first weighs most.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Complexity {
    nodes: usize,
    runs: usize,
    dynamic_axes: usize,
    uncommon_types: usize,
    tensors: usize,
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
    /// Of `case`.
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
            runs: case.runs.len(),
            dynamic_axes: dims.filter(|dim| matches!(dim, Dim::Symbolic(_))).count(),
            uncommon_types: values.iter().filter(|values| values.uncommon).count(),
            tensors: graph.inputs.len() + graph.initializers.len() + empty_inputs(case),
            axes: parameters.clone().chain(fed.clone()).map(|tensor| tensor.shape.len()).sum(),
            input_elements: fed.map(Tensor::len).sum(),
            parameter_elements: parameters.map(Tensor::len).sum(),
            settings: graph.nodes.iter().map(|node| settings(&node.op)).sum(),
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
    let (auto_pad, group, ones, zeros) = match op {
        Op::Conv(Conv { auto_pad, dilations, group, pads, strides, .. }) => {
            (auto_pad, group, [dilations, strides], vec![pads])
        }
        Op::ConvTranspose(ConvTranspose {
            auto_pad,
            dilations,
            group,
            output_padding,
            output_shape,
            pads,
            strides,
            ..
        }) => (auto_pad, group, [dilations, strides], vec![pads, output_padding, output_shape]),
        _ => return 0,
    };
    let distance = |entries: &Option<Vec<i64>>, default: i64| {
        entries.iter().flatten().map(|entry| entry.abs_diff(default)).fold(0, u64::saturating_add)
    };
    let automatic = auto_pad.is_some_and(|auto_pad| auto_pad != AutoPad::NotSet);
    let groups = group.map_or(0, |group| group.abs_diff(1));
    let ones = ones.into_iter().map(|entries| distance(entries, 1));
    let zeros = zeros.into_iter().map(|entries| distance(entries, 0));
    ones.chain(zeros).chain([u64::from(automatic), groups]).fold(0, u64::saturating_add)
}

/// How many optional attributes are not in their canonical form: written, but for `kernel_shape`, which is.
fn attributes(op: &Op) -> usize {
    let written =
        |attributes: &[&Option<Vec<i64>>]| attributes.iter().filter(|entries| entries.is_some()).count();
    match op {
        Op::Conv(Conv { auto_pad, dilations, group, kernel_shape, pads, strides }) => {
            written(&[dilations, pads, strides])
                + usize::from(auto_pad.is_some())
                + usize::from(group.is_some())
                + usize::from(kernel_shape.is_none())
        }
        Op::ConvTranspose(ConvTranspose {
            auto_pad,
            dilations,
            group,
            kernel_shape,
            output_padding,
            output_shape,
            pads,
            strides,
        }) => {
            written(&[dilations, pads, strides, output_padding, output_shape])
                + usize::from(auto_pad.is_some())
                + usize::from(group.is_some())
                + usize::from(kernel_shape.is_none())
        }
        Op::BatchNormalization(BatchNormalization { epsilon, momentum, training_mode }) => {
            usize::from(epsilon.is_some())
                + usize::from(momentum.is_some())
                + usize::from(training_mode.is_some())
        }
        _ => 0,
    }
}
