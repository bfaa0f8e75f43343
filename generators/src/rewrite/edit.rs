use twinfer_case::{Case, Regime, TensorSource};
use twinfer_onnx::{Dim, Initializer, Node, Op, Tensor, ValueInfo, infer_shapes};

/// Has every reader of the value `name` read what a new node computes of constants instead.
pub fn compute(case: &mut Case, op: Op, inputs: Vec<String>, name: &str) {
    let graph = &mut case.graph;
    let output = format!("{name}_computed");
    let readers = graph.nodes.iter_mut().flat_map(|node| &mut node.inputs);
    for input in readers.filter(|input| *input == name) {
        input.clone_from(&output);
    }
    let node = Node { name: format!("compute_{name}"), op, inputs, outputs: vec![output] };
    let is_constant = |node: &Node| matches!(node.op, Op::Constant(_));
    let place = graph.nodes.iter().rposition(is_constant).map_or(0, |place| place + 1);
    graph.nodes.insert(place, node);
}

/// Makes a value an output; its extents are declared by names if the graph has dynamic axes.
pub fn give(case: &mut Case, name: &str) -> Option<()> {
    let graph = &case.graph;
    let shapes: Vec<_> = case.runs.first()?.inputs.iter().map(|source| source.shape().to_vec()).collect();
    let inferred = infer_shapes(graph, &shapes).ok()?;
    let found = inferred.get(name)?;
    let mut dims = graph.inputs.iter().filter_map(|input| input.shape.as_ref()).flatten();
    let is_dynamic = dims.any(|dim| matches!(dim, Dim::Symbolic(_)));
    let dim = |(axis, extent): (usize, &usize)| {
        if is_dynamic { Dim::Symbolic(format!("{name}_D{axis}")) } else { Dim::Fixed(*extent) }
    };
    let shape = found.shape.iter().enumerate().map(dim).collect();
    let output = ValueInfo { name: name.to_owned(), dtype: found.dtype, shape: Some(shape) };
    case.graph.outputs.push(output);
    Some(())
}

/// Adds an initializer and returns its name: the given one, or a longer one if an initializer has that.
pub fn add_initializer(case: &mut Case, mut name: String, tensor: Tensor) -> String {
    while case.graph.initializer(&name).is_some() {
        name.push('_');
    }
    case.graph.initializers.push(Initializer { name: name.clone(), tensor });
    name
}

/// Whether an input of the case lies on a grid.
pub fn is_exact(case: &Case) -> bool {
    case.runs.iter().flat_map(|run| &run.inputs).any(|source| match source {
        TensorSource::Recipe(recipe) => {
            matches!(recipe.regime, Regime::Exact { .. } | Regime::Integers { .. })
        }
        TensorSource::Data(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::DataType;

    use super::*;
    use crate::{Distribution, Family};

    #[test]
    fn initializer_with_a_name_that_is_taken_gets_another() {
        let mut case = Family::Conv.stream(Distribution::Full, 1).case(0);
        let scalar = || Tensor::from_f64(DataType::Float, Vec::new(), &[1.0]).expect("a scalar");
        let names = [(); 3].map(|()| add_initializer(&mut case, "scales".to_owned(), scalar()));
        assert_eq!(names, ["scales", "scales_", "scales__"]);
    }
}
