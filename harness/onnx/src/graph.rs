use serde::{Deserialize, Serialize};

use crate::{DataType, Op, Tensor};

/// A graph whose nodes are in topological order, as ONNX requires.
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
