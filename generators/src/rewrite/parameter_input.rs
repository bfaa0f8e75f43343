use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{DataType, Dim, Graph, Initializer, Tensor, ValueInfo};

use crate::Choices;

/// Feeds a weight or a bias. Every second run feeds it negated, if it is no integers, so that what a backend keeps of a weight shows.
pub fn apply(case: &mut Case, choices: &mut Choices) -> Option<()> {
    let name = choices.some_of(&parameters(&case.graph))?.clone();
    let place = case.graph.initializers.iter().position(|initializer| initializer.name == name)?;
    let Initializer { name, tensor } = case.graph.initializers.remove(place);
    let dims = tensor.shape.iter().map(|extent| Dim::Fixed(*extent)).collect();
    case.graph.inputs.push(ValueInfo { name, dtype: tensor.dtype(), shape: Some(dims) });
    for (index, run) in case.runs.iter_mut().enumerate() {
        let fed = if index % 2 == 0 { tensor.clone() } else { negated(&tensor) };
        run.inputs.push(TensorSource::Data(fed));
    }
    Some(())
}

/// The initializers that are weights or biases, before anything is computed of them.
fn parameters(graph: &Graph) -> Vec<String> {
    let convolutions = graph.nodes.iter().filter(|node| node.op.is_convolution());
    let read = convolutions.flat_map(|node| [node.input(1), node.input(2)]).flatten();
    let constant = |name: &str| {
        let mut name = name;
        while let Some(node) = graph.producer(name) {
            name = node.input(0)?;
        }
        graph.initializer(name).map(|_| name.to_owned())
    };
    read.filter_map(constant).collect()
}

fn negated(tensor: &Tensor) -> Tensor {
    if matches!(tensor.dtype(), DataType::Int8 | DataType::Uint8 | DataType::Int32) {
        return tensor.clone();
    }
    let elements: Vec<_> = tensor.to_f64().iter().map(|element| -element).collect();
    Tensor::from_f64(tensor.dtype(), tensor.shape.clone(), &elements).unwrap_or_else(|_| tensor.clone())
}
