//! What the picture of a graph shows: boxes for inputs, operators and outputs, and edges for values.

use std::collections::HashMap;

use twinfer_onnx::{Graph, Initializer, Op, PartialGraph, PartialNode, Tensor, TensorType, infer_shapes};

use super::number::number;
use crate::numbers::truncated;

/// The most operators of a picture.
pub const MAX_OPERATORS: usize = 48;
/// The most edges of a picture.
const MAX_EDGES: usize = 200;
/// The most lines of a box, and the most values that are named below it.
const MAX_LINES: usize = 24;
/// The most inputs of an operator that are looked at.
const MAX_INPUTS: usize = 64;
/// The most columns of a line.
const COLUMNS: usize = 44;
/// The most elements of a constant that are written out.
const ELEMENTS: usize = 4;

/// A graph to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    pub boxes: Vec<PictureBox>,
    pub edges: Vec<Edge>,
    /// Operators that are not drawn, because there are too many.
    pub left_out: usize,
}

/// An input, an operator or an output.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureBox {
    pub role: Role,
    pub title: String,
    /// Attributes, then constants that it reads.
    pub lines: Vec<Line>,
    /// The types of the values that leave the box, each with its name; empty if they are not known.
    pub gives: Vec<String>,
}

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Input,
    Operator,
    Output,
}

/// A line in a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub text: String,
    /// Whether it says nothing that would not hold without it.
    pub is_default: bool,
}

/// A value that leads from a box to a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
}

impl Picture {
    /// The picture of a graph whose inputs have these shapes.
    pub fn of_graph(graph: &Graph, inputs: &[Vec<usize>]) -> Self {
        let types = infer_shapes(graph, inputs).ok();
        let fed = |name: &str| {
            let (info, shape) = graph.inputs.iter().zip(inputs).find(|(info, _)| info.name == name)?;
            Some(TensorType { dtype: info.dtype, shape: shape.clone() })
        };
        let type_of = |name: &str| match &types {
            Some(types) => types.get(name).map(ToString::to_string),
            // a graph that breaks a rule: only what it is fed is known
            None => fed(name).map(|of| of.to_string()),
        };
        Self::of(&PartialGraph::from(graph), type_of)
    }

    /// The picture of a model whose operators need not be known.
    pub fn of_model(graph: &PartialGraph) -> Self {
        Self::of(graph, |_| None)
    }

    fn of(graph: &PartialGraph, type_of: impl Fn(&str) -> Option<String>) -> Self {
        let constants = constants(graph);
        let mut picture = Self::default();
        let mut producers: HashMap<&str, usize> = HashMap::new();
        let labeled = |name: &str| type_of(name).map_or_else(|| name.to_owned(), |of| format!("{name} {of}"));
        for input in graph.inputs.iter().take(MAX_OPERATORS) {
            producers.insert(&input.name, picture.boxes.len());
            let declared = || format!("{} {}", input.name, input.dtype);
            let gives = type_of(&input.name).map_or_else(declared, |of| format!("{} {of}", input.name));
            picture.boxes.push(PictureBox {
                role: Role::Input,
                title: clipped(&input.name),
                lines: Vec::new(),
                gives: vec![clipped(&gives)],
            });
        }
        let operators: Vec<_> = graph.nodes.iter().filter(|node| !is_constant(node)).collect();
        for &node in operators.iter().take(MAX_OPERATORS) {
            let place = picture.boxes.len();
            picture.connect(
                node.inputs().take(MAX_INPUTS).filter_map(|name| producers.get(name).copied()),
                place,
            );
            producers.extend(node.outputs().map(|name| (name, place)));
            picture.boxes.push(PictureBox {
                role: Role::Operator,
                title: clipped(node.op_type()),
                lines: attributes(node).chain(read_constants(node, &constants)).take(MAX_LINES).collect(),
                gives: node.outputs().take(MAX_LINES).map(|name| clipped(&labeled(name))).collect(),
            });
        }
        picture.left_out = operators.len().saturating_sub(MAX_OPERATORS);
        for name in graph.outputs.iter().take(MAX_OPERATORS) {
            let Some(&producer) = producers.get(name.as_str()) else { continue };
            picture.connect([producer].into_iter(), picture.boxes.len());
            picture.boxes.push(PictureBox {
                role: Role::Output,
                title: clipped(name),
                lines: Vec::new(),
                gives: Vec::new(),
            });
        }
        picture
    }

    fn connect(&mut self, from: impl Iterator<Item = usize>, to: usize) {
        for from in from {
            let edge = Edge { from, to };
            if self.edges.len() < MAX_EDGES && !self.edges.contains(&edge) {
                self.edges.push(edge);
            }
        }
    }
}

fn is_constant(node: &PartialNode) -> bool {
    matches!(node.op(), Some(Op::Constant(_)))
}

/// The constants of a graph, by name.
fn constants(graph: &PartialGraph) -> HashMap<&str, &Tensor> {
    let stored = graph.initializers.iter().map(|Initializer { name, tensor }| (name.as_str(), tensor));
    let computed = graph.nodes.iter().filter_map(|node| match node.op() {
        Some(Op::Constant(tensor)) => node.outputs().next().map(|name| (name, tensor)),
        _ => None,
    });
    stored.chain(computed).collect()
}

fn attributes(node: &PartialNode) -> impl Iterator<Item = Line> {
    let written = node.op().map(Op::written_attributes).unwrap_or_default();
    written.into_iter().map(|attribute| Line {
        text: clipped(&format!("{} = {}", attribute.name, attribute.value)),
        is_default: attribute.is_default,
    })
}

/// The constants that a node reads, in the order of its inputs.
fn read_constants(node: &PartialNode, constants: &HashMap<&str, &Tensor>) -> Vec<Line> {
    let read = node
        .inputs()
        .take(MAX_INPUTS)
        .filter_map(|name| constants.get(name).map(|tensor| constant(name, tensor)));
    read.map(|text| Line { text: clipped(&text), is_default: false }).collect()
}

/// Such as `W0: f32[4,3,3]`, or `scale: f32[] = 0.5` if there are few elements.
fn constant(name: &str, tensor: &Tensor) -> String {
    let of = TensorType { dtype: tensor.dtype(), shape: tensor.shape.clone() };
    if tensor.len() > ELEMENTS || tensor.is_empty() {
        return format!("{name}: {of}");
    }
    let elements: Vec<_> = tensor.to_f64().into_iter().map(number).collect();
    format!("{name}: {of} = {}", elements.join(", "))
}

fn clipped(text: &str) -> String {
    truncated(text, COLUMNS)
}
