use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{
    BatchNormalization, ConvTranspose, DataType, Graph, Initializer, Node, Op, Tensor, WindowMut,
};

/// The last convolution of a graph: breaking it leaves what precedes it valid.
pub fn target(graph: &Graph) -> usize {
    graph.nodes.iter().rposition(|node| node.op.is_convolution()).expect("every case has a convolution")
}

pub fn window(op: &mut Op) -> WindowMut<'_> {
    op.window_mut().expect("the target is a convolution")
}

pub fn deconv(op: &mut Op) -> &mut ConvTranspose {
    match op {
        Op::ConvTranspose(deconv) => deconv,
        _ => unreachable!("the breach starts from a ConvTranspose"),
    }
}

/// The names of the initializers from which the parameter `input` of `node` is computed; the parameter
/// itself if it is an initializer.
fn source_names(graph: &Graph, node: usize, input: usize) -> Vec<String> {
    let name = &graph.nodes[node].inputs[input];
    match graph.producer(name) {
        Some(producer) => producer.inputs.clone(),
        None => vec![name.clone()],
    }
}

fn sources(graph: &mut Graph, node: usize, input: usize) -> impl Iterator<Item = &mut Initializer> {
    let names = source_names(graph, node, input);
    graph.initializers.iter_mut().filter(move |initializer| names.contains(&initializer.name))
}

/// The spatial extents of the weight that is the parameter `input` of `node`.
pub fn kernel(graph: &Graph, node: usize, input: usize) -> Vec<i64> {
    let names = source_names(graph, node, input);
    let weight = graph.initializers.iter().find(|initializer| names.contains(&initializer.name));
    weight.expect("weights come from initializers").tensor.shape[2..].iter().map(|x| *x as i64).collect()
}

/// Gives the parameter `input` of `node` another shape; its elements repeat to fill it.
pub fn reshape(graph: &mut Graph, node: usize, input: usize, reshape: impl Fn(&mut Vec<usize>)) {
    for initializer in sources(graph, node, input) {
        let tensor = &initializer.tensor;
        let mut shape = tensor.shape.clone();
        reshape(&mut shape);
        let count = shape.iter().product();
        let values: Vec<_> = tensor.to_f64().into_iter().cycle().take(count).collect();
        initializer.tensor = made(tensor.dtype(), shape, &values);
    }
}

/// Gives the parameter `input` of `node` another element type.
pub fn retype(graph: &mut Graph, node: usize, input: usize, dtype: DataType) {
    for initializer in sources(graph, node, input) {
        initializer.tensor = converted(&initializer.tensor, dtype);
    }
}

/// Gives every tensor of a case another element type.
pub fn retype_all(case: &mut Case, dtype: DataType) {
    for initializer in &mut case.graph.initializers {
        initializer.tensor = converted(&initializer.tensor, dtype);
    }
    for value in case.graph.inputs.iter_mut().chain(&mut case.graph.outputs) {
        value.dtype = dtype;
    }
    for source in case.runs.iter_mut().flat_map(|run| &mut run.inputs) {
        match source {
            TensorSource::Recipe(recipe) => recipe.dtype = dtype,
            TensorSource::Data(tensor) => *tensor = converted(tensor, dtype),
        }
    }
}

pub fn converted(tensor: &Tensor, dtype: DataType) -> Tensor {
    made(dtype, tensor.shape.clone(), &tensor.to_f64())
}

/// Leaves the declared output without a shape, which it no longer has.
pub fn undeclare_output(graph: &mut Graph) {
    for output in &mut graph.outputs {
        output.shape = None;
    }
}

/// Appends a node that takes the graph's output and parameters of ones, and gives the output in its place.
pub fn append(graph: &mut Graph, op: Op, parameters: &[Vec<usize>]) {
    let dtype = graph.outputs[0].dtype;
    let mut inputs = vec![graph.outputs[0].name.clone()];
    for shape in parameters {
        let name = format!("P{}", graph.initializers.len());
        let ones = vec![1.0; shape.iter().product()];
        let tensor = made(dtype, shape.clone(), &ones);
        graph.initializers.push(Initializer { name: name.clone(), tensor });
        inputs.push(name);
    }
    let output = format!("y{}", graph.nodes.len());
    let name = format!("node{}", graph.nodes.len());
    graph.outputs[0].name.clone_from(&output);
    graph.nodes.push(Node { name, op, inputs, outputs: vec![output] });
}

pub fn normalization(training_mode: Option<i64>) -> Op {
    Op::BatchNormalization(BatchNormalization { training_mode, ..BatchNormalization::default() })
}

pub fn made(dtype: DataType, shape: Vec<usize>, values: &[f64]) -> Tensor {
    Tensor::from_f64(dtype, shape, values).expect("as many values as the shape holds")
}
