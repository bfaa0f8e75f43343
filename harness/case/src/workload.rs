use twinfer_onnx::{Graph, Node, Op, Shapes, Tensor, element_count, infer_shapes};

/// How much a case gives a backend to do, by the shape rules of ONNX.
pub(crate) struct Workload {
    /// Bytes of the outputs of all runs; `None` if the shapes of one run are not known.
    pub output_bytes: Option<u64>,
    /// Multiply-accumulates of the first run's convolutions; 0 if their shapes are not known.
    pub macs: u64,
}

impl Workload {
    /// The workload of `graph` with the inputs of `runs`.
    pub fn of(graph: &Graph, runs: &[Vec<Tensor>]) -> Self {
        let shapes_of = |inputs: &Vec<Tensor>| {
            let shapes: Vec<_> = inputs.iter().map(|input| input.shape.clone()).collect();
            infer_shapes(graph, &shapes).ok()
        };
        let mut of_runs = runs.iter().map(shapes_of).peekable();
        let macs = of_runs.peek().and_then(Option::as_ref).map_or(0, |shapes| macs(graph, shapes));
        let output_bytes =
            of_runs.try_fold(0_u64, |total, shapes| total.checked_add(output_bytes(&shapes?)?));
        Self { output_bytes, macs }
    }
}

fn output_bytes(shapes: &Shapes) -> Option<u64> {
    shapes.outputs().iter().try_fold(0_u64, |total, output| {
        let bytes = element_count(&output.shape)?.checked_mul(output.dtype.size())?;
        total.checked_add(bytes as u64)
    })
}

fn macs(graph: &Graph, shapes: &Shapes) -> u64 {
    graph.nodes.iter().filter_map(|node| macs_of(node, shapes)).fold(0, u64::saturating_add)
}

/// Multiply-accumulates of a node: each output element of a Conv, or input element of a ConvTranspose, is multiplied with the
/// kernels of its group once. `None` for other operators, or if shapes are not known.
fn macs_of(node: &Node, shapes: &Shapes) -> Option<u64> {
    let elements = |name: &String| shapes.get(name).map(|value| value.shape.iter().product::<usize>() as u64);
    let weights = shapes.get(node.inputs.get(1)?)?;
    let per_position: usize = weights.shape.get(1..)?.iter().product();
    match &node.op {
        Op::Conv(_) => Some(elements(node.outputs.first()?)? * per_position as u64),
        Op::ConvTranspose(_) => Some(elements(node.inputs.first()?)? * per_position as u64),
        _ => None,
    }
}
