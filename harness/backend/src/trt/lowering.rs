//! From an ONNX graph to a TensorRT network, layer by layer: the lowering that framework converters do.
//!
//! TensorRT's deconvolution has no output padding: `output_padding` shortens the post-padding while there is some,
//! and what is left is a strip that is appended as zeros before the bias is added. One spatial axis becomes two by an
//! axis of extent 1. Operators that TensorRT lacks a layer for are refused by name.

mod constants;
mod elementwise;
mod preparation;
mod quantization;
mod windows;

use std::collections::HashMap;

use nvinfer::{ActivationType, ElementWiseOperation, LayerType, NetworkDefinition, Tensor as Value};
use twinfer_onnx::{
    DataType, DecodeError, Dim, Graph, Node, Op, RuleViolation, Shapes, Tensor, infer_shapes,
};

use self::preparation::Preparation;

/// Why a graph has no network.
#[derive(Debug, thiserror::Error)]
pub enum LoweringError {
    /// The model is not one that the graph types cover.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The graph breaks a validity rule.
    #[error(transparent)]
    Invalid(#[from] RuleViolation),
    /// TensorRT has no layer for it.
    #[error("no layer: {reason} (node {node})")]
    NoLayer {
        /// The node.
        node: String,
        /// What there is no layer for.
        reason: String,
    },
    /// TensorRT refused a layer.
    #[error(transparent)]
    Refused(#[from] nvinfer::Error),
}

/// Fills `network` with the graph of `model`, whose inputs have the shapes of `run`.
pub fn lower(network: &NetworkDefinition<'_>, model: &[u8], run: &[Tensor]) -> Result<(), LoweringError> {
    let graph = Graph::decode(model)?;
    let inputs: Vec<Vec<usize>> = run.iter().map(|tensor| tensor.shape.clone()).collect();
    let shapes = infer_shapes(&graph, &inputs)?;
    let preparation = Preparation::of(&graph);
    let mut lowering = Lowering {
        network,
        graph: &graph,
        shapes: &shapes,
        preparation: &preparation,
        values: HashMap::new(),
    };
    lowering.feed()?;
    for node in &graph.nodes {
        let before = network.layers()?.len();
        let value = lowering.node(node)?;
        sign(network, before, node)?;
        if let Some(name) = node.outputs.first() {
            value.set_name(name)?;
            lowering.values.insert(name, value);
        }
    }
    for output in &graph.outputs {
        let value = lowering.value(&output.name)?;
        network.mark_output(value)?;
        settle(value, output.dtype)?;
    }
    Ok(())
}

/// Writes the node's name on the layers that it became, so that an engine reports which nodes its layers cover. One of them
/// has it as its own name, the window if there is one: a release without metadata reports nothing else.
fn sign(network: &NetworkDefinition<'_>, before: usize, node: &Node) -> Result<(), LoweringError> {
    let mut layers = Vec::new();
    for layer in network.layers()?.into_iter().skip(before) {
        let layer_type = layer.layer_type()?;
        if layer_type != LayerType::Constant {
            layers.push((layer_type, layer));
        }
    }
    let is_window = |layer_type| matches!(layer_type, LayerType::Convolution | LayerType::Deconvolution);
    layers.sort_by_key(|(layer_type, _)| !is_window(*layer_type));
    for (index, (_, layer)) in layers.iter().enumerate() {
        layer.set_name(&if index == 0 { node.name.clone() } else { format!("{} {index}", node.name) })?;
        match layer.set_metadata(&format!("[ONNX Layer: {}]", node.name)) {
            Ok(()) | Err(nvinfer::Error::Unsupported(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Gives an output its type, where the release does not infer it.
fn settle(output: Value<'_>, dtype: DataType) -> Result<(), LoweringError> {
    match output.set_data_type(data_type(dtype)?) {
        Ok(()) | Err(nvinfer::Error::Unsupported(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A graph on its way to a network.
struct Lowering<'n, 'g> {
    network: &'n NetworkDefinition<'n>,
    graph: &'g Graph,
    shapes: &'g Shapes<'g>,
    preparation: &'g Preparation<'g>,
    values: HashMap<&'g str, Value<'n>>,
}

impl<'n, 'g> Lowering<'n, 'g> {
    fn feed(&mut self) -> Result<(), LoweringError> {
        for input in &self.graph.inputs {
            let extents: Vec<i64> = input.shape.iter().flatten().map(declared).collect();
            let value = self.network.add_input(&input.name, data_type(input.dtype)?, &extents)?;
            self.values.insert(&input.name, value);
        }
        Ok(())
    }

    fn node(&mut self, node: &'g Node) -> Result<Value<'n>, LoweringError> {
        match &node.op {
            Op::Conv(op) => self.conv(node, op),
            Op::ConvTranspose(op) => self.conv_transpose(node, op),
            Op::MaxPool(op) => self.max_pool(node, op),
            Op::AveragePool(op) => self.average_pool(node, op),
            Op::GlobalAveragePool => self.global_average_pool(node),
            Op::Relu => self.activation(node, ActivationType::Relu, None),
            Op::Sigmoid => self.activation(node, ActivationType::Sigmoid, None),
            Op::LeakyRelu(op) => self.leaky_relu(node, op),
            Op::HardSwish => self.hard_swish(node),
            Op::Clip => self.clip(node),
            Op::Add => self.element_wise(node, ElementWiseOperation::Sum),
            Op::Mul => self.element_wise(node, ElementWiseOperation::Prod),
            Op::Transpose(op) => self.transposition(node, op),
            Op::BatchNormalization(op) => self.batch_normalization(node, op),
            Op::Concat(op) => self.concat(node, op),
            Op::Identity => self.identity(node),
            Op::QuantizeLinear(op) => self.quantize_linear(node, op),
            Op::DequantizeLinear(op) => self.dequantize_linear(node, op),
            other => Err(no_layer(node, format!("TensorRT has no layer for {}", other.op_type()))),
        }
    }

    /// The value that input `index` of `node` names; an initializer becomes a constant on first use.
    fn input(&mut self, node: &'g Node, index: usize) -> Result<Value<'n>, LoweringError> {
        let name = node.input(index).ok_or_else(|| no_layer(node, format!("input {index} is absent")))?;
        self.value(name)
    }

    fn value(&mut self, name: &'g str) -> Result<Value<'n>, LoweringError> {
        if let Some(value) = self.values.get(name) {
            return Ok(*value);
        }
        let tensor = self.initializer(name).ok_or_else(|| LoweringError::NoLayer {
            node: name.to_owned(),
            reason: "nothing produces this value".to_owned(),
        })?;
        // a quantized constant goes straight into DequantizeLinear: nothing may reshape it in between
        let value = match (&tensor.shape[..], self.is_planar(name)) {
            (&[maps, channels, extent], true) => {
                self.constant(&Tensor { shape: vec![maps, channels, extent, 1], data: tensor.data.clone() })?
            }
            _ => self.constant(tensor)?,
        };
        self.values.insert(name, value);
        Ok(value)
    }

    /// The shape that input `index` of `node` has in the run the network is made for.
    fn shape(&self, node: &Node, index: usize) -> &'g [usize] {
        node.input(index).and_then(|name| self.shapes.get(name)).map_or(&[], |found| &found.shape)
    }

    /// The elements of input `index` of `node`, if they are known when the model is loaded.
    fn known(&self, node: &Node, index: usize) -> Option<&'g Tensor> {
        self.initializer(node.input(index)?)
    }

    fn initializer(&self, name: &str) -> Option<&'g Tensor> {
        self.graph.initializer(name).or_else(|| self.preparation.biases.get(name))
    }

    /// Whether a value is a kernel over one axis that has a second axis already.
    fn is_planar(&self, name: &str) -> bool {
        self.preparation.planar.contains(name)
    }
}

fn declared(dim: &Dim) -> i64 {
    match dim {
        Dim::Fixed(extent) => *extent as i64,
        Dim::Symbolic(_) => -1,
    }
}

fn no_layer(node: &Node, reason: String) -> LoweringError {
    LoweringError::NoLayer { node: node.name.clone(), reason }
}

/// The TensorRT type that an ONNX type is.
fn data_type(dtype: DataType) -> Result<nvinfer::DataType, LoweringError> {
    Ok(match dtype {
        DataType::Float => nvinfer::DataType::Float,
        DataType::Float16 => nvinfer::DataType::Half,
        DataType::Bfloat16 => nvinfer::DataType::Bf16,
        DataType::Int8 => nvinfer::DataType::Int8,
        DataType::Uint8 => nvinfer::DataType::Uint8,
        DataType::Int32 => nvinfer::DataType::Int32,
        DataType::Int64 => nvinfer::DataType::Int64,
        DataType::Bool => nvinfer::DataType::Bool,
        other => {
            return Err(LoweringError::NoLayer {
                node: "graph".to_owned(),
                reason: format!("TensorRT has no element type for {other:?}"),
            });
        }
    })
}
