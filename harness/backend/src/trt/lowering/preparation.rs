//! What a graph's constants become before its nodes become layers.

use std::collections::{HashMap, HashSet};

use twinfer_onnx::{Graph, Node, Op, Tensor, TensorData};

/// Constants in the form that layers take.
#[derive(Default)]
pub struct Preparation<'g> {
    /// Biases in int32 behind `DequantizeLinear`, which TensorRT dequantizes no more than it adds: as floats.
    pub biases: HashMap<&'g str, Tensor>,
    /// Kernels over one axis, and what their quantizers make of them: they get an axis of extent 1 before the quantizers,
    /// since TensorRT wants nothing between a quantizer and its convolution.
    pub planar: HashSet<&'g str>,
}

impl<'g> Preparation<'g> {
    pub fn of(graph: &'g Graph) -> Self {
        let mut preparation = Self::default();
        for node in &graph.nodes {
            if let (Op::DequantizeLinear(_), Some(output)) = (&node.op, node.outputs.first())
                && let Some(bias) = bias(graph, node)
            {
                preparation.biases.insert(output, bias);
            }
            if node.op.is_convolution()
                && let Some(kernel) = node.inputs.get(1)
            {
                preparation.planar.extend(planar(graph, kernel));
            }
        }
        preparation
    }
}

/// The elements of an int32 initializer, dequantized symmetrically with one scale or one an element.
fn bias(graph: &Graph, node: &Node) -> Option<Tensor> {
    let known = |index: usize| graph.initializer(node.input(index)?);
    let (steps, scale) = (known(0)?, known(1)?);
    let TensorData::Int32(elements) = &steps.data else { return None };
    let is_symmetric = match known(2).map(|zero_point| &zero_point.data) {
        Some(TensorData::Int32(zeros)) => zeros.iter().all(|&zero| zero == 0),
        Some(_) => false,
        None => node.input(2).is_none(),
    };
    let scales = scale.to_f64();
    let is_one_each = scales.len() == elements.len() && steps.shape.len() == 1;
    if !is_symmetric || scales.len() != 1 && !is_one_each {
        return None;
    }
    let products = elements.iter().zip(scales.iter().cycle()).map(|(&step, scale)| f64::from(step) * scale);
    Tensor::from_f64(scale.dtype(), steps.shape.clone(), &products.collect::<Vec<_>>()).ok()
}

/// The values from an initializer of rank 3 through quantizers to a kernel, if nothing else reads them.
fn planar<'g>(graph: &'g Graph, kernel: &'g str) -> Vec<&'g str> {
    let mut values = vec![kernel];
    let mut name = kernel;
    for _ in &graph.nodes {
        if uses(graph, name) != 1 {
            return Vec::new();
        }
        if let Some(tensor) = graph.initializer(name) {
            return if tensor.shape.len() == 3 && values.len() > 1 { values } else { Vec::new() };
        }
        match graph.producer(name) {
            Some(Node { op: Op::QuantizeLinear(_) | Op::DequantizeLinear(_), inputs, .. })
                if !inputs.is_empty() =>
            {
                name = &inputs[0];
                values.push(name);
            }
            _ => return Vec::new(),
        }
    }
    Vec::new()
}

/// How many inputs of nodes and outputs of the graph are the value `name`.
fn uses(graph: &Graph, name: &str) -> usize {
    let read = graph.readers(name).flat_map(|node| &node.inputs).filter(|input| *input == name);
    read.count() + graph.outputs.iter().filter(|output| output.name == name).count()
}
