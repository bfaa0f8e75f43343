mod convolutions;
mod edited;
mod integer_operands;
mod integers;
mod normalization;
mod quantizers;

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt as _};
use twinfer_onnx::{
    AveragePool, Broken, Concat, DataType, Graph, LeakyRelu, MaxPool, Node, Op, Place, Shapes, Tensor,
    Transpose, ValueInfo, resolve_axis,
};

use crate::{
    Arithmetic, Entry, Evaluation, Limits, Reference, Unknown,
    activation::{self, Bounds},
    concat::{concat, first_of_axis},
    edited::Edited,
    elementwise::{add, mul, relu},
    pooling::{Windows, average, extra, max_pool, reduce},
    random_rounding::RandomRounding,
    reduction::Reduction,
    rounding::to_seven_digits,
    rules,
    semantics::{Origin, Semantics, Surroundings},
    taps::{Direction, Reach, Taps},
    transposition::transpose,
    value::Value,
};

/// The values known so far.
pub struct Evaluator<'a> {
    graph: &'a Graph,
    shapes: &'a Shapes<'a>,
    arithmetic: Arithmetic,
    semantics: &'a Semantics,
    /// A change of some of the nodes; `None` for golden and mutants of every node.
    edited: Option<&'a Edited<'a>>,
    /// The remainder of the limits.
    limits: Limits,
    /// The nodes but Constants, by the name of their output.
    producers: HashMap<&'a str, &'a Node>,
    values: HashMap<&'a str, Value>,
    origins: HashMap<&'a str, Origin>,
    unspecified: Vec<&'static Entry>,
    /// Whether a backend computed and returned each input; inputs beyond the last were fed.
    returned_inputs: &'a [bool],
    /// What rounds the values in place of bounds; `None` if they get bounds.
    random_rounding: Option<RandomRounding>,
    open: Vec<&'static Entry>,
}

impl<'a> Evaluator<'a> {
    pub fn new(
        graph: &'a Graph,
        shapes: &'a Shapes<'a>,
        arithmetic: Arithmetic,
        semantics: &'a Semantics,
        limits: Limits,
    ) -> Self {
        let given = |node: &'a Node| Some((node.outputs.first()?.as_str(), node));
        let computes = |node: &&Node| !matches!(node.op, Op::Constant(_));
        let names = graph.inputs.len() + graph.initializers.len() + graph.nodes.len();
        Self {
            graph,
            shapes,
            arithmetic,
            semantics,
            edited: None,
            limits,
            producers: graph.nodes.iter().filter(computes).filter_map(given).collect(),
            values: HashMap::with_capacity(names),
            origins: HashMap::with_capacity(names),
            unspecified: Vec::new(),
            returned_inputs: &[],
            random_rounding: None,
            open: Vec::new(),
        }
    }

    /// Changes the nodes that `edited` concerns.
    pub fn with_edit(self, edited: &'a Edited<'a>) -> Self {
        Self { edited: Some(edited), ..self }
    }

    /// Rounds every value that is not exact at random.
    pub fn rounding_randomly(self, seed: u64) -> Self {
        Self { random_rounding: Some(RandomRounding::new(seed)), ..self }
    }

    /// Takes the inputs that are `returned` for values that a backend computed and returned.
    pub fn with_returned_inputs(self, returned: &'a [bool]) -> Self {
        Self { returned_inputs: returned, ..self }
    }

    /// Evaluates the graph for inputs whose types and shapes are known to fit.
    pub fn run(mut self, inputs: &[Tensor]) -> Result<Evaluation, Unknown> {
        for (place, (input, tensor)) in self.graph.inputs.iter().zip(inputs).enumerate() {
            self.limits.hold(&input.name, &tensor.shape)?;
            let value = Value::given(tensor, self.arithmetic);
            let is_returned = self.returned_inputs.get(place).copied().unwrap_or_default();
            let value = if is_returned { value.returned() } else { value };
            self.values.insert(&input.name, value);
            self.origins.insert(&input.name, Origin::Input);
        }
        for initializer in &self.graph.initializers {
            self.limits.hold(&initializer.name, &initializer.tensor.shape)?;
            self.values.insert(&initializer.name, Value::given(&initializer.tensor, self.arithmetic));
            self.origins.insert(&initializer.name, Origin::Constant);
        }
        for node in &self.graph.nodes {
            let value = self.node(node)?;
            let value = match &mut self.random_rounding {
                Some(rounding) => rounding.round(value),
                None => value,
            };
            self.values.insert(&node.outputs[0], value);
            self.origins.insert(&node.outputs[0], self.origin_of_output(node));
        }
        let outputs = self.graph.outputs.iter().map(|output| Reference::from(&*self.output(output)));
        Ok(Evaluation { outputs: outputs.collect(), unspecified: self.unspecified, open: self.open })
    }

    /// An output in its declared type. Values that a mutant read as int8 keep their bytes.
    fn output(&self, output: &ValueInfo) -> Cow<'_, Value> {
        let value = &self.values[output.name.as_str()];
        match (value.dtype, output.dtype) {
            (DataType::Int8, DataType::Uint8) => Cow::Owned(value.as_unsigned()),
            _ => Cow::Borrowed(value),
        }
    }

    fn node(&mut self, node: &Node) -> Result<Value, Unknown> {
        match self.edited {
            Some(edited) if edited.concerns(node) => self.edited(edited, node),
            _ => self.stated(node),
        }
    }

    /// The output of a node by the semantics in force.
    fn stated(&mut self, node: &Node) -> Result<Value, Unknown> {
        self.limits.hold(&node.name, &self.shape(node))?;
        match &node.op {
            Op::Add => Ok(self.add(node)),
            Op::AveragePool(op) => self.average_pool(op, node),
            Op::BatchNormalization(op) => self.batch_normalization(op, node),
            Op::Clip => Ok(self.clip(node)),
            Op::Concat(op) => self.concat(op, node),
            Op::Constant(value) => Ok(Value::given(value, self.arithmetic)),
            Op::Conv(op) => self.conv(op, node),
            Op::ConvInteger(op) => self.conv_integer(op, node),
            Op::ConvTranspose(op) => self.conv_transpose(op, node),
            Op::DequantizeLinear(op) => self.dequantize(op.axis, node),
            Op::GlobalAveragePool => Ok(self.global_average_pool(node)),
            Op::HardSwish => Ok(self.hard_swish(node)),
            Op::Identity => Ok(self.input(node, 0).clone()),
            Op::LeakyRelu(op) => Ok(self.leaky_relu(op, node)),
            Op::MaxPool(op) => self.max_pool(op, node),
            Op::Mul => Ok(self.mul(node)),
            Op::QLinearConv(op) => self.q_linear_conv(op, node),
            Op::QuantizeLinear(op) => self.quantize(op.axis, node),
            Op::Relu => Ok(self.relu(node)),
            Op::Sigmoid => Ok(activation::sigmoid(self.input(node, 0), self.arithmetic)),
            Op::Transpose(op) => self.transpose(op, node),
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

    /// The origin of the output of `node`, whose inputs are known.
    fn origin_of_output(&self, node: &Node) -> Origin {
        let mut origins = node.inputs.iter().filter_map(|input| self.origins.get(input.as_str()).copied());
        match node.op {
            Op::Identity | Op::Transpose(_) | Op::QuantizeLinear(_) | Op::DequantizeLinear(_) => {
                origins.next().unwrap_or(Origin::Result)
            }
            _ if origins.all(|origin| origin == Origin::Constant) => Origin::Constant,
            _ => Origin::Result,
        }
    }

    /// The node whose output is `name`; `None` if it is an input or an initializer.
    fn producer(&self, name: &str) -> Option<&'a Node> {
        self.producers.get(name).copied()
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

    /// Records rules that leave single elements open.
    fn open(&mut self, entries: impl IntoIterator<Item = &'static Entry>) {
        for entry in entries {
            if !self.open.contains(&entry) {
                self.open.push(entry);
            }
        }
    }

    fn add(&mut self, node: &Node) -> Value {
        let b = match self.semantics.surroundings {
            Surroundings::AddendDropped => Cow::Owned(self.input(node, 1).zeros()),
            _ => Cow::Borrowed(self.input(node, 1)),
        };
        let (sum, touched) = add(self.input(node, 0), &b, self.shape(node), self.arithmetic);
        self.open(touched);
        sum
    }

    fn mul(&mut self, node: &Node) -> Value {
        let (product, touched) =
            mul(self.input(node, 0), self.input(node, 1), self.shape(node), self.arithmetic);
        self.open(touched);
        product
    }

    fn clip(&mut self, node: &Node) -> Value {
        let change = self.semantics.clip;
        let bound = |place: usize| {
            let stated = self.optional_input(node, place)?;
            let is_rounded = change.bounds_in_seven_digits && stated.dtype == DataType::Float;
            Some(if is_rounded {
                Cow::Owned(stated.map(|x| to_seven_digits(*x)))
            } else {
                Cow::Borrowed(stated)
            })
        };
        let (min, mut max) = (bound(1), bound(2));
        let mut entries = Vec::new();
        if let (Some(min), Some(max)) = (&min, &mut max)
            && min.elements[0] > max.elements[0]
        {
            entries.extend((self.graph.opset < 13).then_some(&rules::CLIP_BOUNDS_BEFORE_13));
            if change.lower_bound_last {
                max.clone_from(min);
            }
        }
        let bounds = Bounds { min: min.as_deref(), max: max.as_deref() };
        let (clipped, touched) = activation::clip(self.input(node, 0), &bounds);
        self.touch(entries);
        self.open(touched);
        clipped
    }

    fn leaky_relu(&mut self, op: &LeakyRelu, node: &Node) -> Value {
        /// The default of ONNX.
        const ALPHA: f32 = 0.01;
        let alpha = f64::from(op.alpha.unwrap_or(ALPHA));
        let (leaked, touched) = activation::leaky_relu(self.input(node, 0), alpha, self.arithmetic);
        self.open(touched);
        leaked
    }

    fn hard_swish(&mut self, node: &Node) -> Value {
        let (value, touched) = activation::hard_swish(self.input(node, 0), self.arithmetic);
        self.open(touched);
        value
    }

    fn transpose(&self, op: &Transpose, node: &Node) -> Result<Value, Unknown> {
        let x = self.input(node, 0);
        let order = op.order(x.shape.len()).map_err(|fault| broken(node, fault))?;
        Ok(transpose(x, &order))
    }

    fn relu(&mut self, node: &Node) -> Value {
        let x = self.input(node, 0);
        if self.semantics.surroundings == Surroundings::ReluDropped {
            return x.clone();
        }
        let (value, touched) = relu(x);
        self.open(touched);
        value
    }

    fn concat(&self, op: &Concat, node: &Node) -> Result<Value, Unknown> {
        let part = |place| match self.semantics.surroundings {
            Surroundings::ConcatWithOneScale => self.with_first_scale(node, place),
            _ => Cow::Borrowed(self.input(node, place)),
        };
        let parts: Vec<_> = (0..node.inputs.len()).map(part).collect();
        let parts: Vec<&Value> = parts.iter().map(|part| &**part).collect();
        let axis = resolve_axis(op.axis, parts[0].shape.len()).map_err(|fault| broken(node, fault))?;
        let mut shape = self.shape(node);
        let stated = std::mem::replace(&mut shape[axis], parts.iter().map(|part| part.shape[axis]).sum());
        Ok(first_of_axis(concat(&parts, axis, shape), axis, stated))
    }

    fn average_pool(&mut self, op: &AveragePool, node: &Node) -> Result<Value, Unknown> {
        let x = self.input(node, 0);
        let geometry = op.geometry(&x.shape[2..]).map_err(|fault| broken(node, fault))?;
        let shape = self.shape(node);
        let kernel: Vec<_> = geometry.axes.iter().map(|axis| axis.kernel).collect();
        self.limits.convolve(node, &shape, &kernel, 1)?;
        let outside = self.semantics.outside;
        let mut reaches: Vec<_> =
            geometry.axes.iter().map(|axis| Reach { outside, ..Reach::from(axis) }).collect();
        if let Some(numbers) = self.semantics.numbers {
            numbers.apply(&mut reaches);
        }
        let taps = Taps::of(&reaches, Direction::Gather);
        let windows = Windows::of(&taps, &geometry.axes, op.count_include_pad == Some(1));
        let (averaged, touched) = average(self.input(node, 0), &windows, shape, self.arithmetic);
        self.open(touched);
        self.touch(rules::of_average_pool(op, &geometry));
        Ok(averaged)
    }

    fn global_average_pool(&mut self, node: &Node) -> Value {
        let x = self.input(node, 0);
        let windows = Windows::all(x.shape[2..].iter().product());
        let (averaged, touched) = average(x, &windows, self.shape(node), self.arithmetic);
        self.open(touched);
        averaged
    }

    fn max_pool(&mut self, op: &MaxPool, node: &Node) -> Result<Value, Unknown> {
        let x = self.input(node, 0);
        let geometry = op.geometry(&x.shape[2..]).map_err(|fault| broken(node, fault))?;
        let shape = self.shape(node);
        let kernel: Vec<_> = geometry.axes.iter().map(|axis| axis.kernel).collect();
        self.limits.convolve(node, &shape, &kernel, 1)?;
        let x = self.input(node, 0);
        let outside = self.semantics.outside;
        let mut reaches: Vec<_> =
            geometry.axes.iter().map(|axis| Reach { outside, ..Reach::from(axis) }).collect();
        if let Some(numbers) = self.semantics.numbers {
            numbers.apply(&mut reaches);
        }
        let taps = Taps::of(&reaches, Direction::Gather);
        let extra = extra(self.semantics.surroundings, &reaches, &taps, x.dtype, self.semantics.fill);
        let (pooled, touched, open) = match self.semantics.reduction {
            Reduction::Maximum => max_pool(x, &taps, shape, extra),
            Reduction::Other(choice, padding) => {
                (reduce(x, &taps, shape, (choice, padding), self.arithmetic), Vec::new(), Vec::new())
            }
        };
        self.touch(touched);
        self.open(open);
        self.touch(rules::of_max_pool(op, &geometry));
        Ok(pooled)
    }
}

fn broken(node: &Node, fault: Broken) -> Unknown {
    fault.at(Place::Node { name: node.name.clone(), op_type: node.op.op_type() }).into()
}
