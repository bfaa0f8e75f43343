use serde::{Deserialize, Serialize};

use crate::{DataType, Op, Tensor};

/// A graph whose nodes are in topological order, as ONNX requires.
///
/// Values are referred to by name. The look-ups ([`input`](Self::input), [`initializer`](Self::initializer),
/// [`producer`](Self::producer), [`readers`](Self::readers)) search from the start of the graph and hold for invalid
/// graphs too: the first value of a name counts, and the empty name finds nothing.
///
/// [`Display`](std::fmt::Display) writes the graph in one line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// The version of the default operator set.
    pub opset: i64,
    /// What the caller feeds; initializers are not listed here.
    pub inputs: Vec<ValueInfo>,
    /// Constant tensors, known when the model is loaded.
    pub initializers: Vec<Initializer>,
    /// Operators, each after the producers of its inputs.
    pub nodes: Vec<Node>,
    /// What the caller reads.
    pub outputs: Vec<ValueInfo>,
}

impl Graph {
    /// The graph input called `name`.
    pub fn input(&self, name: &str) -> Option<&ValueInfo> {
        self.inputs.iter().find(|input| is_called(&input.name, name))
    }

    /// The constant tensor called `name`, an initializer or the value of a Constant; `None` for a value that is fed or
    /// computed.
    pub fn initializer(&self, name: &str) -> Option<&Tensor> {
        let found = self.initializers.iter().find(|initializer| is_called(&initializer.name, name));
        found.map(|initializer| &initializer.tensor).or_else(|| match &self.producer(name)?.op {
            Op::Constant(value) => Some(value),
            _ => None,
        })
    }

    /// The constant tensor called `name`, for editing.
    pub fn initializer_mut(&mut self, name: &str) -> Option<&mut Tensor> {
        let found = self.initializers.iter_mut().find(|initializer| is_called(&initializer.name, name));
        found.map(|initializer| &mut initializer.tensor).or_else(|| {
            let gives = |node: &&mut Node| node.outputs.iter().any(|output| is_called(output, name));
            match &mut self.nodes.iter_mut().find(gives)?.op {
                Op::Constant(value) => Some(value),
                _ => None,
            }
        })
    }

    /// The node that computes the value `name`; `None` for a graph input, an initializer and an unknown value.
    pub fn producer(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.outputs.iter().any(|output| is_called(output, name)))
    }

    /// The nodes that read the value `name`, in the graph's order, each once. Whether the value is also a graph output
    /// is not considered.
    pub fn readers<'g>(&'g self, name: &str) -> impl Iterator<Item = &'g Node> {
        self.nodes.iter().filter(move |node| node.inputs.iter().any(|input| is_called(input, name)))
    }

    /// Removes the nodes and initializers that no output needs. Inputs stay; the names of all values that are needed are returned, in no
    /// particular order.
    pub fn prune(&mut self) -> Vec<String> {
        let mut needed: Vec<String> = self.outputs.iter().map(|output| output.name.clone()).collect();
        let mut kept = Vec::with_capacity(self.nodes.len());
        for node in std::mem::take(&mut self.nodes).into_iter().rev() {
            if node.outputs.iter().any(|output| needed.contains(output)) {
                needed.extend(node.inputs.iter().cloned());
                kept.push(node);
            }
        }
        kept.reverse();
        self.nodes = kept;
        self.initializers.retain(|initializer| needed.contains(&initializer.name));
        needed
    }
}

/// The empty name stands for an optional value left out, so nothing is called that.
fn is_called(found: &str, name: &str) -> bool {
    found == name && !name.is_empty()
}

/// One operator applied to named values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Unique in the graph; backends report layers by it.
    pub name: String,
    /// The operator with its attributes.
    pub op: Op,
    /// Names of values; an empty name is an optional input left out.
    pub inputs: Vec<String>,
    /// Names of the values it produces.
    pub outputs: Vec<String>,
}

impl Node {
    /// The name of the input at `index`; `None` if the node has fewer inputs or leaves that one out.
    pub fn input(&self, index: usize) -> Option<&str> {
        self.inputs.get(index).map(String::as_str).filter(|name| !name.is_empty())
    }
}

/// A named constant tensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Initializer {
    /// The value's name.
    pub name: String,
    /// Its elements.
    pub tensor: Tensor,
}

/// The name, type and (possibly symbolic) shape of a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueInfo {
    /// The value's name.
    pub name: String,
    /// Its element type.
    pub dtype: DataType,
    /// Its extents; `None` where the model declares no shape.
    pub shape: Option<Vec<Dim>>,
}

impl ValueInfo {
    /// A value of the type `dtype` that has one of `shapes` in each run: symbolic along the axes where they differ. What has the same extents in
    /// all runs has the same symbol, because some backends refuse to add or concatenate what could differ. `None` if they differ in rank, or if
    /// there is none.
    pub fn over_runs(name: &str, dtype: DataType, shapes: &[&[usize]]) -> Option<Self> {
        let (first, others) = shapes.split_first()?;
        if others.iter().any(|other| other.len() != first.len()) {
            return None;
        }
        let dim = |(axis, &extent): (usize, &usize)| {
            let is_fixed = others.iter().all(|other| other[axis] == extent);
            let symbol =
                || shapes.iter().fold("D".to_owned(), |symbol, shape| format!("{symbol}_{}", shape[axis]));
            if is_fixed { Dim::Fixed(extent) } else { Dim::Symbolic(symbol()) }
        };
        let shape = Some(first.iter().enumerate().map(dim).collect());
        Some(Self { name: name.to_owned(), dtype, shape })
    }

    /// Whether a tensor of this type and shape is such a value, whatever the symbolic extents stand for.
    pub fn admits(&self, dtype: DataType, shape: &[usize]) -> bool {
        let fits = |dim: &Dim, extent: usize| match dim {
            Dim::Fixed(fixed) => *fixed == extent,
            Dim::Symbolic(_) => true,
        };
        let has_shape = |dims: &Vec<Dim>| {
            dims.len() == shape.len() && dims.iter().zip(shape).all(|(dim, extent)| fits(dim, *extent))
        };
        self.dtype == dtype && self.shape.as_ref().is_none_or(has_shape)
    }
}

/// One extent of a shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Dim {
    /// Known when the model is built.
    Fixed(usize),
    /// Known when the model runs; equal names mean equal extents.
    Symbolic(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TensorData;

    fn relu(input: &str, output: &str) -> Node {
        Node {
            name: output.to_owned(),
            op: Op::Relu,
            inputs: vec![input.to_owned(), String::new()],
            outputs: vec![output.to_owned()],
        }
    }

    fn graph() -> Graph {
        Graph {
            opset: 20,
            inputs: vec![ValueInfo { name: "x".to_owned(), dtype: DataType::Float, shape: None }],
            initializers: vec![Initializer {
                name: "w".to_owned(),
                tensor: Tensor { shape: vec![1], data: TensorData::Float(vec![2.0]) },
            }],
            nodes: vec![relu("x", "a"), relu("a", "b"), relu("a", "c"), relu("w", "")],
            outputs: vec![],
        }
    }

    #[test]
    fn values_are_found_by_name() {
        let mut graph = graph();
        assert_eq!(graph.producer("b"), Some(&graph.nodes[1]));
        assert_eq!(graph.readers("a").collect::<Vec<_>>(), [&graph.nodes[1], &graph.nodes[2]]);
        assert_eq!(graph.input("x"), Some(&graph.inputs[0]));
        assert_eq!(graph.initializer("w"), Some(&graph.initializers[0].tensor));
        graph.initializer_mut("w").expect("w is constant").shape = vec![1, 1];
        assert_eq!(graph.initializers[0].tensor.shape, [1, 1]);
    }

    #[test]
    fn equal_extents_have_one_symbol() {
        let shape =
            |shapes: &[&[usize]]| ValueInfo::over_runs("x", DataType::Float, shapes).unwrap().shape.unwrap();
        let symbol = |symbol: &str| Dim::Symbolic(symbol.to_owned());
        assert_eq!(shape(&[&[1, 3, 3], &[1, 5, 5]]), [Dim::Fixed(1), symbol("D_3_5"), symbol("D_3_5")]);
        assert_eq!(shape(&[&[3, 4], &[5, 5]]), [symbol("D_3_5"), symbol("D_4_5")]);
    }

    #[test]
    fn empty_and_unknown_names_find_nothing() {
        let graph = graph();
        for name in ["", "unknown"] {
            assert_eq!((graph.producer(name), graph.readers(name).count()), (None, 0));
            assert_eq!((graph.input(name), graph.initializer(name)), (None, None));
        }
        assert_eq!(graph.producer("x"), None);
        assert_eq!(
            (graph.nodes[0].input(0), graph.nodes[0].input(1), graph.nodes[0].input(2)),
            (Some("x"), None, None)
        );
    }
}
