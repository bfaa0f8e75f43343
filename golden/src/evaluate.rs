use std::{borrow::Cow, collections::HashMap};

use twinfer_onnx::{
    Axis, BatchNormalization, Broken, Concat, Conv, ConvTranspose, DataType, Graph, MaxPool, Node, Op,
    RuleViolation, Shapes, Tensor, element_count, infer_shapes, resolve_axis,
};

use crate::{
    Arithmetic, Entry, Reference,
    batch_normalization::{self, batch_normalization},
    concat::concat,
    convolution::{Channels, Convolution, GroupOrder, WeightLayout},
    defects::Defect,
    elementwise::{add, relu},
    pooling::max_pool,
    quantization::{self, Manner, dequantize, quantize},
    rules,
    taps::{Direction, Reach, Taps},
    value::Value,
};

/// The most multiply-accumulates of one node that golden spends its time on.
pub const MAX_MULTIPLY_ACCUMULATES: u64 = 1 << 34;

/// The most elements of one value, and of pairs of an output and a kernel position: what golden holds in memory.
pub const MAX_ELEMENTS: u64 = 1 << 23;

/// What a graph computes from given inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// One entry a graph output, in the graph's order.
    pub outputs: Vec<Reference>,
    /// The points of the specification that are open and that the graph touches, each once.
    pub unspecified: Vec<&'static Entry>,
}

/// Why golden has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// The graph is not valid for these inputs.
    #[error("invalid graph: {0}")]
    Invalid(#[from] RuleViolation),
    /// An input has another element type than declared.
    #[error("input {name:?} is declared {declared:?} and fed {fed:?}")]
    Input {
        /// The graph input.
        name: String,
        /// Its element type.
        declared: DataType,
        /// The tensor's.
        fed: DataType,
    },
    /// The reference is slow and holds much: this is beyond what it takes on.
    #[error("node {node:?} is too large for golden: {what}")]
    TooLarge {
        /// The node's name.
        node: String,
        /// What is too large, and how large.
        what: String,
    },
}

/// What `graph` computes from `inputs`, one tensor a graph input in the graph's order.
pub fn evaluate(graph: &Graph, inputs: &[Tensor]) -> Result<Evaluation, Unknown> {
    evaluate_as(graph, inputs, Arithmetic::default(), None)
}

/// What `graph` computes from `inputs`, with a mistake made on purpose.
pub fn evaluate_with(
    graph: &Graph,
    inputs: &[Tensor],
    defect: Option<Defect>,
) -> Result<Evaluation, Unknown> {
    evaluate_as(graph, inputs, Arithmetic::default(), defect)
}

/// What `graph` computes from `inputs` on backends of this arithmetic, with or without a mistake.
pub fn evaluate_as(
    graph: &Graph,
    inputs: &[Tensor],
    arithmetic: Arithmetic,
    defect: Option<Defect>,
) -> Result<Evaluation, Unknown> {
    for (input, tensor) in graph.inputs.iter().zip(inputs) {
        let (declared, fed) = (input.dtype, tensor.dtype());
        if declared != fed {
            return Err(Unknown::Input { name: input.name.clone(), declared, fed });
        }
    }
    let input_shapes: Vec<_> = inputs.iter().map(|tensor| tensor.shape.clone()).collect();
    let shapes = infer_shapes(graph, &input_shapes)?;
    let mut evaluator = Evaluator {
        graph,
        shapes: &shapes,
        arithmetic,
        defect,
        values: HashMap::new(),
        unspecified: Vec::new(),
    };
    for (input, tensor) in graph.inputs.iter().zip(inputs) {
        evaluator.values.insert(&input.name, Value::given(tensor, arithmetic));
    }
    for initializer in &graph.initializers {
        evaluator.values.insert(&initializer.name, Value::given(&initializer.tensor, arithmetic));
    }
    for node in &graph.nodes {
        let value = evaluator.node(node)?;
        evaluator.values.extend(node.outputs.first().map(|output| (output.as_str(), value)));
    }
    let outputs = graph.outputs.iter().filter_map(|output| evaluator.values.get(output.name.as_str()));
    Ok(Evaluation { outputs: outputs.map(Reference::from).collect(), unspecified: evaluator.unspecified })
}

impl From<&Value> for Reference {
    fn from(value: &Value) -> Self {
        Self {
            dtype: value.dtype,
            shape: value.shape.clone(),
            values: value.elements.clone(),
            bound: value.error.clone().unwrap_or_else(|| vec![0.0; value.elements.len()]),
            grid_step: value.step.map(crate::step::Step::size),
        }
    }
}

/// The values known so far.
struct Evaluator<'a> {
    graph: &'a Graph,
    shapes: &'a Shapes<'a>,
    arithmetic: Arithmetic,
    defect: Option<Defect>,
    values: HashMap<&'a str, Value>,
    unspecified: Vec<&'static Entry>,
}

/// The attributes that Conv and `ConvTranspose` share once resolved.
struct Resolved {
    axes: Vec<Axis>,
    group: usize,
    direction: Direction,
    layout: WeightLayout,
}

impl Evaluator<'_> {
    fn node(&mut self, node: &Node) -> Result<Value, Unknown> {
        let elements = element_count(&self.shape(node)).unwrap_or(usize::MAX);
        if elements as u64 > MAX_ELEMENTS {
            return Err(too_large(node, format!("{elements} elements")));
        }
        match &node.op {
            Op::Add => Ok(self.add(node)),
            Op::BatchNormalization(op) => Ok(self.batch_normalization(op, node)),
            Op::Concat(op) => self.concat(op, node),
            Op::Conv(op) => self.conv(op, node),
            Op::ConvTranspose(op) => self.conv_transpose(op, node),
            Op::DequantizeLinear(op) => self.dequantize(op.axis, node),
            Op::Identity => Ok(self.input(node, 0).clone()),
            Op::MaxPool(op) => self.max_pool(op, node),
            Op::QuantizeLinear(op) => self.quantize(op.axis, node),
            Op::Relu => {
                let (value, touched) = relu(self.input(node, 0));
                self.touch(touched);
                Ok(value)
            }
            op => Err(broken(
                node,
                Broken {
                    rule: twinfer_onnx::Rule::ElementType,
                    detail: format!("golden has no {}", op.op_type()),
                },
            )),
        }
    }

    /// A required input; shape inference has found it.
    fn input(&self, node: &Node, place: usize) -> &Value {
        &self.values[node.inputs[place].as_str()]
    }

    fn optional_input(&self, node: &Node, place: usize) -> Option<&Value> {
        node.inputs.get(place).and_then(|name| self.values.get(name.as_str()))
    }

    /// The extents of the node's output.
    fn shape(&self, node: &Node) -> Vec<usize> {
        self.shapes.get(&node.outputs[0]).map_or_else(Vec::new, |output| output.shape.clone())
    }

    fn touch(&mut self, entries: impl IntoIterator<Item = &'static Entry>) {
        for entry in entries {
            if !self.unspecified.contains(&entry) {
                self.unspecified.push(entry);
            }
        }
    }

    fn add(&mut self, node: &Node) -> Value {
        let (sum, touched) = add(self.input(node, 0), self.input(node, 1), self.shape(node), self.arithmetic);
        self.touch(touched);
        sum
    }

    fn batch_normalization(&mut self, op: &BatchNormalization, node: &Node) -> Value {
        /// The default of ONNX.
        const EPSILON: f32 = 1e-5;
        let parameters = batch_normalization::Parameters {
            scale: self.input(node, 1),
            bias: self.input(node, 2),
            mean: self.input(node, 3),
            variance: self.input(node, 4),
            epsilon: f64::from(op.epsilon.unwrap_or(EPSILON)),
        };
        let (normalized, touched) = batch_normalization(self.input(node, 0), &parameters, self.arithmetic);
        self.touch(touched);
        normalized
    }

    fn concat(&self, op: &Concat, node: &Node) -> Result<Value, Unknown> {
        let parts: Vec<_> = (0..node.inputs.len()).map(|place| self.input(node, place)).collect();
        let axis = resolve_axis(op.axis, parts[0].shape.len()).map_err(|fault| broken(node, fault))?;
        Ok(concat(&parts, axis, self.shape(node)))
    }

    fn conv(&mut self, op: &Conv, node: &Node) -> Result<Value, Unknown> {
        let auto_pad = self.defect.map_or(op.auto_pad, |defect| defect.auto_pad(op.auto_pad));
        let op = Conv { auto_pad, ..op.clone() };
        let (x, w) = (self.input(node, 0), self.input(node, 1));
        let geometry = op.geometry(&x.shape[2..], &w.shape[2..]).map_err(|fault| broken(node, fault))?;
        self.touch(rules::of_conv(&op, &geometry));
        self.convolve(
            node,
            &Resolved {
                axes: geometry.axes,
                group: geometry.group,
                direction: Direction::Gather,
                layout: WeightLayout::OutputFirst,
            },
        )
    }

    fn conv_transpose(&mut self, op: &ConvTranspose, node: &Node) -> Result<Value, Unknown> {
        let auto_pad = self.defect.map_or(op.auto_pad, |defect| defect.auto_pad(op.auto_pad));
        let op = ConvTranspose { auto_pad, ..op.clone() };
        let (x, w) = (self.input(node, 0), self.input(node, 1));
        let geometry = op.geometry(&x.shape[2..], &w.shape[2..]).map_err(|fault| broken(node, fault))?;
        self.touch(rules::of_conv_transpose(&op, &geometry));
        self.convolve(
            node,
            &Resolved {
                axes: geometry.axes,
                group: geometry.group,
                direction: Direction::Scatter,
                layout: WeightLayout::InputFirst,
            },
        )
    }

    fn convolve(&self, node: &Node, resolved: &Resolved) -> Result<Value, Unknown> {
        let Resolved { group, direction, layout, .. } = *resolved;
        let (x, w) = (self.input(node, 0), self.input(node, 1));
        let shape = self.shape(node);
        affordable(node, &shape, &w.shape[2..], x.shape[1] / group)?;
        let channels = Channels {
            groups: group,
            inputs: x.shape[1] / group,
            outputs: shape[1] / group,
            layout,
            order: self.defect.map_or(GroupOrder::Contiguous, Defect::group_order),
        };
        let taps = Taps::of(&self.reaches(&resolved.axes, direction), direction);
        let (x, w) = (&*self.operand(x), &*self.operand(w));
        let bias = self.optional_input(node, 2).filter(|_| self.defect != Some(Defect::BiasDropped));
        let bias_everywhere = self.defect != Some(Defect::BiasOnlyWhereReached);
        Ok(Convolution { x, w, bias, channels, taps: &taps, bias_everywhere, arithmetic: self.arithmetic }
            .evaluate(shape))
    }

    /// An operand of a convolution, as it is unless a defect rounds it.
    fn operand<'b>(&self, operand: &'b Value) -> Cow<'b, Value> {
        match self.defect.and_then(Defect::operands) {
            None => Cow::Borrowed(operand),
            Some(dtype) => Cow::Owned(operand.rounded_to(dtype)),
        }
    }

    fn reaches(&self, axes: &[Axis], direction: Direction) -> Vec<Reach> {
        let reach =
            |axis| self.defect.map_or_else(|| Reach::from(axis), |defect| defect.distort(axis, direction));
        axes.iter().map(reach).collect()
    }

    fn max_pool(&mut self, op: &MaxPool, node: &Node) -> Result<Value, Unknown> {
        let x = self.input(node, 0);
        let geometry = op.geometry(&x.shape[2..]).map_err(|fault| broken(node, fault))?;
        let shape = self.shape(node);
        let kernel: Vec<_> = geometry.axes.iter().map(|axis| axis.kernel).collect();
        affordable(node, &shape, &kernel, 1)?;
        let reaches: Vec<_> = geometry.axes.iter().map(Reach::from).collect();
        let (pooled, touched) = max_pool(x, &Taps::of(&reaches, Direction::Gather), shape);
        self.touch(touched);
        self.touch(rules::of_max_pool(op, &geometry));
        Ok(pooled)
    }

    fn quantize(&mut self, axis: Option<i64>, node: &Node) -> Result<Value, Unknown> {
        let dtype = self.shapes.get(&node.outputs[0]).map_or(DataType::Uint8, |output| output.dtype);
        let (value, touched) = quantize(self.input(node, 0), &self.quantization(axis, node)?, dtype);
        self.touch(touched);
        Ok(value)
    }

    fn dequantize(&mut self, axis: Option<i64>, node: &Node) -> Result<Value, Unknown> {
        if let Some(elided) = self.elided(node) {
            return Ok(elided.clone());
        }
        let (value, touched) =
            dequantize(self.input(node, 0), &self.quantization(axis, node)?, self.arithmetic);
        self.touch(touched);
        Ok(value)
    }

    /// What was quantized only for `node` to dequantize it, where a defect leaves both out.
    fn elided(&self, node: &Node) -> Option<&Value> {
        let defect = self.defect?;
        let quantizer = self.graph.nodes.iter().find(|quantizer| {
            matches!(quantizer.op, Op::QuantizeLinear(_)) && quantizer.outputs.first() == node.inputs.first()
        })?;
        let source = quantizer.inputs.first()?;
        let is_constant = self.graph.initializers.iter().any(|initializer| initializer.name == *source);
        let output = self.shapes.get(node.outputs.first()?)?.dtype;
        let value = self.values.get(source.as_str())?;
        (defect.elides(is_constant) && value.dtype == output).then_some(value)
    }

    fn quantization(&self, axis: Option<i64>, node: &Node) -> Result<quantization::Parameters<'_>, Unknown> {
        let (x, scale) = (self.input(node, 0), self.input(node, 1));
        let axis = if scale.elements.len() == 1 {
            0
        } else {
            resolve_axis(axis.unwrap_or(1), x.shape.len()).map_err(|fault| broken(node, fault))?
        };
        let is_vector = x.shape.len() > 1 && scale.elements.len() > 1;
        let axis = self.defect.filter(|_| is_vector).map_or(axis, |defect| defect.scale_axis(axis));
        let manner = self.defect.map_or(Manner::ONNX, Defect::manner);
        Ok(quantization::Parameters { scale, zero_point: self.optional_input(node, 2), axis, manner })
    }
}

fn broken(node: &Node, fault: Broken) -> Unknown {
    fault.at(format!("node {:?}", node.name)).into()
}

/// Refuses a convolution or pooling that would take golden too long or too much memory.
fn affordable(node: &Node, output: &[usize], kernel: &[usize], channels: usize) -> Result<(), Unknown> {
    let product =
        |extents: &[usize]| extents.iter().fold(1, |product: u64, x| product.saturating_mul(*x as u64));
    let taps = product(&output[2..]).saturating_mul(product(kernel));
    if taps > MAX_ELEMENTS {
        return Err(too_large(node, format!("{taps} pairs of an output and a kernel position")));
    }
    let work = product(output).saturating_mul(product(kernel)).saturating_mul(channels as u64);
    if work > MAX_MULTIPLY_ACCUMULATES {
        return Err(too_large(node, format!("{work} multiply-accumulates")));
    }
    Ok(())
}

fn too_large(node: &Node, what: String) -> Unknown {
    Unknown::TooLarge { node: node.name.clone(), what }
}
