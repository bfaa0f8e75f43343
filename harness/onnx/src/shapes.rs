use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};

use crate::{
    Dim, Graph, Node, TensorType, ValueInfo,
    geometry::Reading,
    ops::{self, Inputs},
    rule::{Broken, Place, Rule, RuleViolation, require},
    tensor::volume,
};

/// The oldest operator set that twinfer knows: what ONNX Runtime takes.
pub const MIN_OPSET: i64 = 7;

/// The newest operator set that twinfer knows: what ONNX Runtime 1.31 takes.
pub const MAX_OPSET: i64 = 26;

/// The most elements of one tensor; extents of an empty one multiply to no more either, zeros apart.
pub const MAX_ELEMENTS: usize = 1 << 28;

/// The most axes of one tensor.
pub const MAX_RANK: usize = 64;

/// The type of every value of a graph, for given input shapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shapes<'a> {
    values: HashMap<&'a str, TensorType>,
    outputs: Vec<TensorType>,
}

impl Shapes<'_> {
    /// The type of a value, by its name.
    pub fn get(&self, name: &str) -> Option<&TensorType> {
        self.values.get(name)
    }

    /// The types of the graph's outputs, in its order.
    pub fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }
}

/// The type of every value of `graph` when its inputs have these shapes, or the first rule that it breaks.
///
/// Computes nothing but shapes; time and memory are bounded by the size of the graph.
pub fn infer_shapes<'a>(graph: &'a Graph, inputs: &[Vec<usize>]) -> Result<Shapes<'a>, RuleViolation> {
    infer(graph, inputs, Reading::Stated)
}

/// As [`infer_shapes`], for a graph some of whose attributes are read as others: [`Rule::OutputPadding`], which compares
/// attributes that stand for nothing else, need not hold.
pub fn infer_misread_shapes<'a>(
    graph: &'a Graph,
    inputs: &[Vec<usize>],
) -> Result<Shapes<'a>, RuleViolation> {
    infer(graph, inputs, Reading::Misread)
}

fn infer<'a>(graph: &'a Graph, inputs: &[Vec<usize>], reading: Reading) -> Result<Shapes<'a>, RuleViolation> {
    let known = (MIN_OPSET..=MAX_OPSET).contains(&graph.opset);
    require(known, Rule::OpsetKnown, || format!("operator set {}", graph.opset))
        .map_err(|broken| broken.at(Place::Model))?;
    unique_names(graph)?;
    let mut values = HashMap::with_capacity(inputs.len() + graph.initializers.len() + graph.nodes.len());
    for (name, found) in fed(graph, inputs)? {
        define(&mut values, name, found)?;
    }
    for initializer in &graph.initializers {
        let tensor = &initializer.tensor;
        let found = TensorType { dtype: tensor.dtype(), shape: tensor.shape.clone() };
        define(&mut values, &initializer.name, found)?;
    }
    for node in &graph.nodes {
        let found = infer_node(graph.opset, node, &values, reading)?;
        define(&mut values, output_name(node)?, found)?;
    }
    let mut symbols = Symbols::default();
    for (input, shape) in graph.inputs.iter().zip(inputs) {
        symbols.bind(input, shape).map_err(|broken| broken.at(value(&input.name)))?;
    }
    let outputs = graph.outputs.iter().map(|output| declared_output(output, &values, &mut symbols));
    Ok(Shapes { outputs: outputs.collect::<Result<_, _>>()?, values })
}

/// Demands that no two nodes have one name, and that no value is listed as an output twice.
fn unique_names(graph: &Graph) -> Result<(), RuleViolation> {
    let mut nodes = HashSet::new();
    let mut outputs = HashSet::new();
    let unique = |is_new: bool| require(is_new, Rule::UniqueNames, || "named twice".to_owned());
    for node in graph.nodes.iter().filter(|node| !node.name.is_empty()) {
        unique(nodes.insert(&node.name)).map_err(|broken| broken.at(place(node)))?;
    }
    graph.outputs.iter().try_for_each(|output| {
        unique(outputs.insert(&output.name)).map_err(|broken| broken.at(value(&output.name)))
    })
}

fn value(name: &str) -> Place {
    Place::Value(name.to_owned())
}

fn place(node: &Node) -> Place {
    Place::Node { name: node.name.clone(), op_type: node.op.op_type() }
}

/// The graph's inputs with the types that the caller gives them.
fn fed<'a>(graph: &'a Graph, inputs: &[Vec<usize>]) -> Result<Vec<(&'a str, TensorType)>, RuleViolation> {
    require(inputs.len() == graph.inputs.len(), Rule::DeclaredInput, || {
        format!("{} tensors for {} inputs", inputs.len(), graph.inputs.len())
    })
    .map_err(|broken| broken.at(Place::Model))?;
    let typed = graph.inputs.iter().zip(inputs);
    Ok(typed
        .map(|(input, shape)| (input.name.as_str(), TensorType { dtype: input.dtype, shape: shape.clone() }))
        .collect())
}

fn define<'a>(
    values: &mut HashMap<&'a str, TensorType>,
    name: &'a str,
    found: TensorType,
) -> Result<(), RuleViolation> {
    within_limits(&found.shape).map_err(|broken| broken.at(value(name)))?;
    let earlier = values.insert(name, found);
    require(earlier.is_none() && !name.is_empty(), Rule::SingleAssignment, || {
        "defined twice or unnamed".to_owned()
    })
    .map_err(|broken| broken.at(value(name)))
}

fn within_limits(shape: &[usize]) -> Result<(), Broken> {
    let rank = shape.len();
    require(rank <= MAX_RANK, Rule::SizeLimit, || format!("rank {rank}"))?;
    let fits = volume(shape).is_some_and(|volume| volume <= MAX_ELEMENTS);
    require(fits, Rule::SizeLimit, || format!("extents {shape:?}"))
}

fn output_name(node: &Node) -> Result<&str, RuleViolation> {
    match node.outputs.as_slice() {
        [output] => Ok(output),
        outputs => {
            Err(Broken { rule: Rule::OutputCount, detail: format!("{} outputs", outputs.len()) }
                .at(place(node)))
        }
    }
}

fn defined<'a>(values: &'a HashMap<&str, TensorType>, name: &str) -> Result<&'a TensorType, RuleViolation> {
    values.get(name).ok_or_else(|| {
        let detail = "read before anything defines it".to_owned();
        Broken { rule: Rule::ValueDefined, detail }.at(value(name))
    })
}

fn infer_node(
    opset: i64,
    node: &Node,
    values: &HashMap<&str, TensorType>,
    reading: Reading,
) -> Result<TensorType, RuleViolation> {
    let given = node
        .inputs
        .iter()
        .map(|name| if name.is_empty() { Ok(None) } else { defined(values, name).map(Some) })
        .collect::<Result<Vec<_>, _>>()?;
    let since = ops::first_opset(&node.op);
    require(opset >= since, Rule::OpsetKnown, || {
        format!("it exists from operator set {since} on, not in {opset}")
    })
    .and_then(|()| ops::infer(&node.op, &Inputs::new(opset, &given, reading)))
    .map_err(|broken| broken.at(place(node)))
}

fn declared_output(
    output: &ValueInfo,
    values: &HashMap<&str, TensorType>,
    symbols: &mut Symbols,
) -> Result<TensorType, RuleViolation> {
    let found = defined(values, &output.name)?;
    let broken = |detail| Broken { rule: Rule::DeclaredOutput, detail }.at(value(&output.name));
    if output.dtype != found.dtype {
        return Err(broken(format!("declared {}, is {}", output.dtype, found.dtype)));
    }
    symbols.bind(output, &found.shape).map_err(|mismatch| broken(mismatch.detail))?;
    Ok(found.clone())
}

/// What the symbolic extents of a graph stand for.
#[derive(Default)]
struct Symbols(HashMap<String, usize>);

impl Symbols {
    /// Checks `shape` against the declared one, and remembers what its symbols stand for.
    fn bind(&mut self, declared: &ValueInfo, shape: &[usize]) -> Result<(), Broken> {
        let Some(dims) = &declared.shape else {
            return Ok(());
        };
        let matches = dims.len() == shape.len()
            && dims.iter().zip(shape).all(|(dim, extent)| match dim {
                Dim::Fixed(declared) => declared == extent,
                Dim::Symbolic(name) if name.is_empty() => true,
                Dim::Symbolic(name) => *self.0.entry(name.clone()).or_insert(*extent) == *extent,
            });
        require(matches, Rule::DeclaredInput, || {
            let declared: Vec<_> = dims.iter().map(Dim::to_string).collect();
            format!("declared [{}], is {shape:?}", declared.join(", "))
        })
    }
}
