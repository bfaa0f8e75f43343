use std::{borrow::Cow, collections::HashMap};

use twinfer_onnx::{
    Axis, BatchNormalization, Broken, Concat, Conv, ConvTranspose, DataType, Geometry, Graph, MaxPool, Node,
    Op, Shapes, Tensor, element_count, resolve_axis,
};

use crate::{
    Arithmetic, Entry, Evaluation, MAX_ELEMENTS, MAX_MULTIPLY_ACCUMULATES, Reference, Unknown,
    batch_normalization::{self, batch_normalization},
    concat::concat,
    convolution::{Channels, Convolution, GroupOrder, WeightLayout},
    elementwise::{add, relu},
    mutants::Mutant,
    pooling::max_pool,
    quantization::{self, Manner, dequantize, quantize},
    rules,
    taps::{Direction, Reach, Taps},
    value::Value,
};

/// The values known so far.
pub struct Evaluator<'a> {
    graph: &'a Graph,
    shapes: &'a Shapes<'a>,
    arithmetic: Arithmetic,
    mutant: Option<Mutant>,
    values: HashMap<&'a str, Value>,
    unspecified: Vec<&'static Entry>,
}

impl<'a> Evaluator<'a> {
    pub fn new(
        graph: &'a Graph,
        shapes: &'a Shapes<'a>,
        arithmetic: Arithmetic,
        mutant: Option<Mutant>,
    ) -> Self {
        Self { graph, shapes, arithmetic, mutant, values: HashMap::new(), unspecified: Vec::new() }
    }

    /// Evaluates the graph for inputs whose types and shapes are known to fit.
    pub fn run(mut self, inputs: &[Tensor]) -> Result<Evaluation, Unknown> {
        for (input, tensor) in self.graph.inputs.iter().zip(inputs) {
            self.values.insert(&input.name, Value::given(tensor, self.arithmetic));
        }
        for initializer in &self.graph.initializers {
            self.values.insert(&initializer.name, Value::given(&initializer.tensor, self.arithmetic));
        }
        for node in &self.graph.nodes {
            let value = self.node(node)?;
            self.values.insert(&node.outputs[0], value);
        }
        let outputs =
            self.graph.outputs.iter().map(|output| Reference::from(&self.values[output.name.as_str()]));
        Ok(Evaluation { outputs: outputs.collect(), unspecified: self.unspecified })
    }

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
            op => Err(Unknown::Operator(op.op_type())),
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
        let auto_pad = self.mutant.map_or(op.auto_pad, |mutant| mutant.auto_pad(op.auto_pad));
        let op = Conv { auto_pad, ..op.clone() };
        let (x, w) = (self.input(node, 0), self.input(node, 1));
        let geometry = op.geometry(&x.shape[2..], &w.shape[2..]).map_err(|fault| broken(node, fault))?;
        self.touch(rules::of_conv(&op, &geometry));
        self.convolve(node, &geometry, Direction::Gather)
    }

    fn conv_transpose(&mut self, op: &ConvTranspose, node: &Node) -> Result<Value, Unknown> {
        let auto_pad = self.mutant.map_or(op.auto_pad, |mutant| mutant.auto_pad(op.auto_pad));
        let op = ConvTranspose { auto_pad, ..op.clone() };
        let (x, w) = (self.input(node, 0), self.input(node, 1));
        let geometry = op.geometry(&x.shape[2..], &w.shape[2..]).map_err(|fault| broken(node, fault))?;
        self.touch(rules::of_conv_transpose(&op, &geometry));
        self.convolve(node, &geometry, Direction::Scatter)
    }

    fn convolve(&self, node: &Node, geometry: &Geometry, direction: Direction) -> Result<Value, Unknown> {
        let group = geometry.group;
        let (x, w) = (self.input(node, 0), self.input(node, 1));
        let shape = self.shape(node);
        affordable(node, &shape, &w.shape[2..], x.shape[1] / group)?;
        let channels = Channels {
            groups: group,
            inputs: x.shape[1] / group,
            outputs: shape[1] / group,
            layout: match direction {
                Direction::Gather => WeightLayout::OutputFirst,
                Direction::Scatter => WeightLayout::InputFirst,
            },
            order: self.mutant.map_or(GroupOrder::Contiguous, Mutant::group_order),
        };
        let taps = Taps::of(&self.reaches(&geometry.axes, direction), direction);
        let (x, w) = (&*self.operand(x), &*self.operand(w));
        let bias = self.optional_input(node, 2).filter(|_| self.mutant != Some(Mutant::BiasDropped));
        let bias_everywhere = self.mutant != Some(Mutant::BiasOnlyWhereReached);
        Ok(Convolution { x, w, bias, channels, taps: &taps, bias_everywhere, arithmetic: self.arithmetic }
            .evaluate(shape))
    }

    /// An operand of a convolution, as it is unless a mutant rounds it.
    fn operand<'b>(&self, operand: &'b Value) -> Cow<'b, Value> {
        match self.mutant.and_then(Mutant::operands) {
            None => Cow::Borrowed(operand),
            Some(dtype) => Cow::Owned(operand.rounded_to(dtype)),
        }
    }

    fn reaches(&self, axes: &[Axis], direction: Direction) -> Vec<Reach> {
        let reach =
            |axis| self.mutant.map_or_else(|| Reach::from(axis), |mutant| mutant.distort(axis, direction));
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

    /// What was quantized only for `node` to dequantize it, where a mutant leaves both out.
    fn elided(&self, node: &Node) -> Option<&Value> {
        let mutant = self.mutant?;
        let quantizer = self.graph.nodes.iter().find(|quantizer| {
            matches!(quantizer.op, Op::QuantizeLinear(_)) && quantizer.outputs.first() == node.inputs.first()
        })?;
        let source = quantizer.inputs.first()?;
        let is_constant = self.graph.initializers.iter().any(|initializer| initializer.name == *source);
        let output = self.shapes.get(node.outputs.first()?)?.dtype;
        let value = self.values.get(source.as_str())?;
        (mutant.elides(is_constant) && value.dtype == output).then_some(value)
    }

    fn quantization(&self, axis: Option<i64>, node: &Node) -> Result<quantization::Parameters<'_>, Unknown> {
        let (x, scale) = (self.input(node, 0), self.input(node, 1));
        let axis = if scale.elements.len() == 1 {
            0
        } else {
            resolve_axis(axis.unwrap_or(1), x.shape.len()).map_err(|fault| broken(node, fault))?
        };
        let is_vector = x.shape.len() > 1 && scale.elements.len() > 1;
        let axis = self.mutant.filter(|_| is_vector).map_or(axis, |mutant| mutant.scale_axis(axis));
        let manner = self.mutant.map_or(Manner::ONNX, Mutant::manner);
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
