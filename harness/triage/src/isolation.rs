//! *Isolation*: each node of a case as a case of its own, on the values that golden computes for what the node reads. A node that is wrong on
//! its own is a cause; a node that is not only shows what is wrong in front of it.

use std::collections::{BTreeMap, BTreeSet};

use twinfer_case::{Case, Expectation, Run, TensorSource, materialize};
use twinfer_golden::evaluate;
use twinfer_minimize::prune;
use twinfer_onnx::{Dim, Graph, Initializer, Node, Shapes, Tensor, ValueInfo, infer_shapes};

/// The nodes of `case` as cases of their own, in the order of the graph. A node of constants alone is tried on an input first, then on
/// the constants. Nothing for a case of one node, for one that is not valid, and for one that golden cannot evaluate.
pub fn isolated(case: &Case) -> Vec<Case> {
    if case.graph.nodes.len() < 2 || case.expectation != Expectation::Valid {
        return Vec::new();
    }
    let Some(values) = Values::of(case) else { return Vec::new() };
    let alone = |node: &Node| {
        let is_constant = values.fed(node).is_empty();
        let on_input = node.input(0).filter(|_| is_constant).and_then(|data| values.alone(node, &[data]));
        [on_input, values.alone(node, &values.fed(node))]
    };
    case.graph.nodes.iter().flat_map(alone).flatten().collect()
}

/// A node and what is left of its case without it.
pub struct CutOut {
    /// The node as a case of its own.
    pub node: Case,
    /// The case in which the value that golden computes for the node's output is an input.
    pub rest: Case,
}

/// Each convolution and pooling of `case` whose output other nodes read, cut out of it. Nothing for a case that is not valid, and for one that
/// golden cannot evaluate.
pub fn cut_out(case: &Case) -> Vec<CutOut> {
    let Some(values) = Values::of(case).filter(|_| case.expectation == Expectation::Valid) else {
        return Vec::new();
    };
    let nodes = case.graph.nodes.iter().filter(|node| node.op.window().is_some());
    let cut_out =
        |node| Some(CutOut { node: values.alone(node, &values.fed(node))?, rest: values.without(node)? });
    nodes.filter_map(cut_out).collect()
}

/// The nodes of `case` that are of one of `operators`, as cases of their own. What depends on inputs of `case` is an input. Nothing for a case
/// that is not valid, and for one that golden cannot evaluate.
pub fn isolated_of(case: &Case, operators: &BTreeSet<&str>) -> Vec<Case> {
    let Some(values) = Values::of(case).filter(|_| case.expectation == Expectation::Valid) else {
        return Vec::new();
    };
    let nodes = case.graph.nodes.iter().filter(|node| operators.contains(node.op.op_type()));
    nodes.filter_map(|node| values.alone(node, &values.fed(node))).collect()
}

/// The values of a case in each run.
struct Values<'a> {
    case: &'a Case,
    runs: Vec<BTreeMap<String, Tensor>>,
    /// The values that depend on inputs of the graph.
    varying: BTreeSet<String>,
    /// The extents in the first run where the symbolic extents of the graph's inputs are larger: what differs is symbolic too.
    grown: BTreeMap<String, Vec<usize>>,
}

/// What is added to symbolic extents to see which other extents depend on them: more than strides skip.
const GROWTH: usize = 60;

impl<'a> Values<'a> {
    /// `None` if golden does not know them.
    fn of(case: &'a Case) -> Option<Self> {
        let runs = materialize(&case.runs).ok()?.into_iter().map(|inputs| of_run(&case.graph, inputs));
        let runs = runs.collect::<Option<Vec<_>>>().filter(|runs| !runs.is_empty())?;
        let mut varying: BTreeSet<_> = case.graph.inputs.iter().map(|input| input.name.clone()).collect();
        for node in &case.graph.nodes {
            if node.inputs.iter().any(|input| varying.contains(input)) {
                varying.extend(node.outputs.iter().cloned());
            }
        }
        let grown = grown_extents(case, runs.first()?);
        Some(Self { case, runs, varying, grown })
    }

    /// What a node reads that depends on inputs of the graph.
    fn fed<'n>(&self, node: &'n Node) -> Vec<&'n str> {
        let mut fed = Vec::new();
        for input in node.inputs.iter().filter(|input| self.varying.contains(*input)) {
            if !fed.contains(&input.as_str()) {
                fed.push(input);
            }
        }
        fed
    }

    /// The node as a case whose inputs are the values `fed`; what else it reads is constant.
    fn alone(&self, node: &Node, fed: &[&str]) -> Option<Case> {
        let mut constants: Vec<_> =
            node.inputs.iter().filter(|name| !name.is_empty() && !fed.contains(&name.as_str())).collect();
        constants.sort();
        constants.dedup();
        let initializer = |name: &String| {
            let tensor = self.runs.first()?.get(name)?.clone();
            Some(Initializer { name: name.clone(), tensor })
        };
        let run = |values: &BTreeMap<String, Tensor>| {
            let inputs = fed.iter().map(|name| Some(TensorSource::Data(values.get(*name)?.clone())));
            Some(Run { inputs: inputs.collect::<Option<_>>()? })
        };
        let graph = Graph {
            opset: self.case.graph.opset,
            inputs: fed.iter().map(|name| self.declared(name)).collect::<Option<_>>()?,
            initializers: constants.into_iter().map(initializer).collect::<Option<_>>()?,
            nodes: vec![node.clone()],
            outputs: vec![self.declared(node.outputs.first()?)?],
        };
        let runs = self.runs.iter().map(run).collect::<Option<_>>()?;
        Some(Case { graph, runs, provenance: None, ..self.case.clone() })
    }

    /// The case with the output of `node` as an input; `None` if no other node reads it.
    fn without(&self, node: &Node) -> Option<Case> {
        let output = node.outputs.first()?;
        let mut case = self.case.clone();
        case.graph.readers(output).next()?;
        case.graph.nodes.retain(|other| other.outputs != node.outputs);
        case.graph.inputs.push(self.declared(output)?);
        for (run, values) in case.runs.iter_mut().zip(&self.runs) {
            run.inputs.push(TensorSource::Data(values.get(output)?.clone()));
        }
        prune(&mut case)?;
        Some(Case { provenance: None, ..case })
    }

    /// An input or output with this value, as symbolic as it is in the graph.
    fn declared(&self, name: &str) -> Option<ValueInfo> {
        let runs = self.runs.iter().map(|values| values.get(name)).collect::<Option<Vec<_>>>()?;
        let mut shapes: Vec<_> = runs.iter().map(|tensor| tensor.shape.as_slice()).collect();
        // as if there were another run
        shapes.extend(self.grown.get(name).map(Vec::as_slice));
        ValueInfo::over_runs(name, runs.first()?.dtype(), &shapes)
    }
}

/// The extents of all values whose extents are known if the symbolic extents of the inputs grow; empty if none is symbolic, or if the graph
/// does not admit that.
fn grown_extents(case: &Case, first: &BTreeMap<String, Tensor>) -> BTreeMap<String, Vec<usize>> {
    let grown = |input: &ValueInfo| {
        let extents = first.get(&input.name).map_or(&[][..], |tensor| &tensor.shape).iter().enumerate();
        let is_symbolic = |axis: usize| {
            matches!(input.shape.as_ref().and_then(|dims| dims.get(axis)), Some(Dim::Symbolic(_)))
        };
        extents.map(|(axis, extent)| extent + if is_symbolic(axis) { GROWTH } else { 0 }).collect()
    };
    let inputs: Vec<Vec<_>> = case.graph.inputs.iter().map(grown).collect();
    let Ok(shapes) = infer_shapes(&case.graph, &inputs) else { return BTreeMap::new() };
    let inputs = case.graph.inputs.iter().map(|input| &input.name);
    let names = inputs.chain(case.graph.nodes.iter().flat_map(|node| &node.outputs));
    names.filter_map(|name| Some((name.clone(), shapes.get(name)?.shape.clone()))).collect()
}

/// All values of one run, by name.
fn of_run(graph: &Graph, inputs: Vec<Tensor>) -> Option<BTreeMap<String, Tensor>> {
    let extents: Vec<_> = inputs.iter().map(|input| input.shape.clone()).collect();
    let shapes = infer_shapes(graph, &extents).ok()?;
    let names: Vec<_> = graph.nodes.iter().flat_map(|node| &node.outputs).collect();
    let observed = names.iter().map(|name| inferred(name, &shapes)).collect::<Option<_>>()?;
    let evaluation = evaluate(&Graph { outputs: observed, ..graph.clone() }, &inputs).ok()?;
    let computed = evaluation.outputs.iter().map(|output| output.to_tensor().ok());
    let mut values: BTreeMap<_, _> = names
        .into_iter()
        .cloned()
        .zip(computed)
        .map(|(name, value)| Some((name, value?)))
        .collect::<Option<_>>()?;
    values.extend(graph.inputs.iter().map(|input| input.name.clone()).zip(inputs));
    values.extend(graph.initializers.iter().map(|one| (one.name.clone(), one.tensor.clone())));
    Some(values)
}

fn inferred(name: &str, shapes: &Shapes<'_>) -> Option<ValueInfo> {
    let dtype = shapes.get(name)?.dtype;
    Some(ValueInfo { name: name.to_owned(), dtype, shape: None })
}

#[cfg(test)]
mod tests {
    use twinfer_case::Request;
    use twinfer_onnx::{Conv, DataType, DequantizeLinear, Op, TensorData};

    use super::*;

    fn node(op: Op, inputs: &[&str], output: &str) -> Node {
        let inputs = inputs.iter().map(|&input| input.to_owned()).collect();
        Node { name: output.to_owned(), op, inputs, outputs: vec![output.to_owned()] }
    }

    fn initializer(name: &str, shape: Vec<usize>, data: TensorData) -> Initializer {
        Initializer { name: name.to_owned(), tensor: Tensor { shape, data } }
    }

    /// A Relu of -1 and 2, then a Conv with the weight 3 · 0.5.
    fn case() -> Case {
        let value = |name: &str| ValueInfo { name: name.to_owned(), dtype: DataType::Float, shape: None };
        let x = Tensor { shape: vec![1, 1, 2], data: TensorData::Float(vec![-1.0, 2.0]) };
        Case {
            graph: Graph {
                opset: 17,
                inputs: vec![value("x")],
                initializers: vec![
                    initializer("w", vec![1, 1, 1], TensorData::Int8(vec![3])),
                    initializer("scale", Vec::new(), TensorData::Float(vec![0.5])),
                ],
                nodes: vec![
                    node(Op::Relu, &["x"], "positive"),
                    node(Op::DequantizeLinear(DequantizeLinear::default()), &["w", "scale"], "weights"),
                    node(Op::Conv(Conv::default()), &["positive", "weights"], "y"),
                ],
                outputs: vec![value("y")],
            },
            request: Request { precision: DataType::Float, tf32: false },
            runs: vec![Run { inputs: vec![TensorSource::Data(x)] }],
            expectation: Expectation::Valid,
            provenance: None,
        }
    }

    #[test]
    fn isolated_node_is_as_symbolic_as_in_its_graph() {
        let symbol = |name: &str| Dim::Symbolic(name.to_owned());
        let mut case = case();
        case.graph.inputs[0].shape = Some(vec![Dim::Fixed(1), Dim::Fixed(1), symbol("n")]);
        let convolution = &isolated_of(&case, &BTreeSet::from(["Conv"]))[0].graph;
        let shape = convolution.inputs[0].shape.as_deref();
        assert_eq!(shape, Some([Dim::Fixed(1), Dim::Fixed(1), symbol("D_2_62")].as_slice()));
        assert_eq!(convolution.outputs[0].shape.as_deref(), shape);
    }

    #[test]
    fn rest_reads_what_golden_computes_for_the_node_that_is_cut_out() {
        let mut case = case();
        assert!(cut_out(&case).is_empty(), "nothing reads the Conv");
        case.graph.nodes.push(node(Op::Relu, &["y"], "z"));
        case.graph.outputs[0].name = "z".to_owned();
        let [CutOut { node, rest }] = &cut_out(&case)[..] else { panic!("one Conv") };
        assert_eq!(node.graph.nodes[0].op.op_type(), "Conv");
        assert_eq!(rest.graph.nodes.iter().map(|node| node.op.op_type()).collect::<Vec<_>>(), ["Relu"]);
        assert_eq!(rest.graph.inputs.iter().map(|input| &input.name).collect::<Vec<_>>(), ["y"]);
        assert_eq!(rest.runs[0].inputs[0].tensor().expect("data").to_f64(), [0.0, 3.0]);
        assert!(rest.graph.initializers.is_empty());
    }

    #[test]
    fn nodes_are_isolated_with_the_values_they_read() {
        let isolated = isolated(&case());
        let summary = |case: &Case| {
            let fed = case.runs[0].inputs.iter().map(|source| source.tensor().expect("data").to_f64());
            let constant = case.graph.initializers.iter().map(|one| one.tensor.to_f64());
            (
                case.graph.nodes[0].op.op_type().to_owned(),
                fed.collect::<Vec<_>>(),
                constant.collect::<Vec<_>>(),
            )
        };
        let dequantize = || "DequantizeLinear".to_owned();
        assert_eq!(
            isolated.iter().map(summary).collect::<Vec<_>>(),
            [
                ("Relu".to_owned(), vec![vec![-1.0, 2.0]], vec![]),
                (dequantize(), vec![vec![3.0]], vec![vec![0.5]]),
                (dequantize(), vec![], vec![vec![0.5], vec![3.0]]),
                ("Conv".to_owned(), vec![vec![0.0, 2.0]], vec![vec![1.5]]),
            ]
        );
        assert!(isolated.iter().all(|case| Values::of(case).is_some()), "golden evaluates each");
        let convolutions = isolated_of(&case(), &BTreeSet::from(["Conv"]));
        assert_eq!(convolutions, isolated[3..]);
    }
}
