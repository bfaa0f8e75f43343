use twinfer_case::{Case, Expectation, Recipe, Regime, Request, Run, TensorSource};
use twinfer_onnx::{
    BatchNormalization, Concat, DataType, DequantizeLinear, Dim, Graph, Initializer, Node, Op,
    QuantizeLinear, Tensor, ValueInfo,
};

use crate::{
    Bias, Choices, Dynamic, Neighbour, Quantizer, Source, Space,
    convolution::{BiasForm, Drawn, Forms, Quantization},
    exact::Ahead,
    layer::Layer,
    parameters::Knowledge,
    plan::{Part, Plan, Point, Step},
    pool::Pool,
    quantizer::Quantizers,
    weights::Scheme,
};

/// A graph under construction: the plan that it follows, and what of it stands.
pub struct Draft<'a> {
    space: &'a Space,
    choices: &'a mut Choices,
    plan: Plan<'a>,
    graph: Graph,
    feeds: Vec<Feed>,
    /// What nodes have computed so far, the latest last.
    values: Vec<Value>,
}

/// A computed value.
#[derive(Clone)]
struct Value {
    name: String,
    channels: usize,
    /// The spatial extents at each point.
    extents: Vec<Vec<usize>>,
    known: Knowledge,
    /// The scale of the integers that it is made of, if it is.
    scale: Option<f64>,
}

/// What is fed to a graph input.
struct Feed {
    shapes: Vec<Vec<usize>>,
    regime: Regime,
}

impl<'a> Draft<'a> {
    /// A case of `space`.
    pub fn case(space: &'a Space, choices: &'a mut Choices) -> Case {
        let plan = Plan::draw(space, choices);
        let graph =
            Graph { opset: plan.opset, inputs: vec![], initializers: vec![], nodes: vec![], outputs: vec![] };
        let mut draft = Self { space, choices, plan, graph, feeds: vec![], values: vec![] };
        draft.compute();
        draft.finish()
    }

    fn compute(&mut self) {
        let ahead = self.plan.ahead();
        self.add_first_input(ahead[0]);
        for (part, ahead) in std::mem::take(&mut self.plan.parts).iter().zip(&ahead[1..]) {
            let mut value = self.values[part.of[0]].clone();
            match &part.step {
                Step::Layer(layer) => self.add_layer(layer, *ahead, &mut value),
                Step::Neighbour(neighbour) => self.add_neighbour(*neighbour, &mut value),
                Step::Quantizer(quantizer) => self.add_quantizer(*quantizer, *ahead, &mut value),
                Step::Pool(pool) => self.add_pool(*pool, &mut value),
                Step::Add | Step::Concat => {
                    value = self.joined(part, *ahead);
                }
            }
            self.values.push(value);
        }
    }

    fn add_first_input(&mut self, ahead: Ahead) {
        let (regime, known) = self.plan.parameters.input(ahead, self.choices);
        let point = |point: &Point| point.spatial.clone();
        let extents: Vec<_> = self.plan.points.iter().map(point).collect();
        let layers = self.plan.parts.iter().find_map(|part| match &part.step {
            Step::Layer(layer) => Some(layer.input_channels()),
            _ => None,
        });
        let channels = layers.expect("every case has a convolution");
        let input = Value { name: "x".to_owned(), channels, extents, known, scale: None };
        self.add_input(&input, regime);
        self.values.push(input);
    }

    fn finish(mut self) -> Case {
        let last = self.latest();
        let output = self.declared(&last);
        self.graph.outputs.push(output);
        let runs = self.runs();
        Case {
            graph: self.graph,
            request: Request { precision: self.plan.precision, tf32: false },
            runs,
            expectation: Expectation::Valid,
            provenance: None,
        }
    }

    fn runs(&mut self) -> Vec<Run> {
        let order = self.plan.runs.order();
        let mut seeds = || [self.choices.seed(), self.choices.seed(), self.choices.seed()];
        let seeds: Vec<_> = self.feeds.iter().map(|_| seeds()).collect();
        let last = self.plan.points.len() - 1;
        let inputs = |(point, values): (usize, usize)| {
            let recipe = |(feed, seeds): (&Feed, &[u64; 3])| {
                let shape = feed.shapes[point.min(last)].clone();
                let recipe = Recipe {
                    dtype: self.plan.precision,
                    shape,
                    regime: feed.regime,
                    seed: seeds[2 * values + point],
                };
                TensorSource::Recipe(recipe)
            };
            Run { inputs: self.feeds.iter().zip(&seeds).map(recipe).collect() }
        };
        order.iter().copied().map(inputs).collect()
    }

    fn add_layer(&mut self, layer: &Layer, ahead: Ahead, value: &mut Value) {
        let source = self.space.weights.draw(self.choices);
        let scheme = self.scheme(layer, source);
        let bias = self.bias(scheme);
        let forms = Forms { weights: scheme, bias: bias.form() };
        let known = (&mut value.known, value.scale);
        let drawn = self.plan.parameters.convolution(layer, forms, ahead, known, self.choices);
        let mut inputs = vec![value.name.clone(), self.parameter("W", drawn.weights, source)];
        match (bias, drawn.bias) {
            (Bias::From(source), Some(offsets)) => inputs.push(self.parameter("B", offsets, source)),
            (Bias::Empty, _) => inputs.push(String::new()),
            _ => {}
        }
        let op = layer.op();
        value.extents = value.extents.iter().map(|extents| layer.output(&op, extents)).collect();
        value.channels = layer.output_channels();
        value.scale = None;
        value.name = self.add_node(op, inputs);
    }

    /// How weights from `source` are quantized, if they are.
    fn scheme(&mut self, layer: &Layer, source: Source) -> Option<Scheme> {
        let quantizers = self.plan.quantizers.filter(|_| source.is_quantized())?;
        let Scheme { quantizer, axis } = quantizers.weights(layer, self.plan.opset, self.choices);
        let quantizer = if source == Source::Quantized { quantizer.quantizing() } else { quantizer };
        Some(Scheme { quantizer, axis })
    }

    /// The bias of a convolution; as integers only where the weights are.
    fn bias(&mut self, weights: Option<Scheme>) -> Bias {
        let quantizers = self.plan.quantizers.filter(|_| weights.is_some());
        let takes_integers = quantizers.is_some_and(Quantizers::takes_integer_bias);
        match self.space.bias.draw(self.choices) {
            Bias::From(source) if source.is_quantized() && !takes_integers => Bias::From(Source::Initializer),
            bias => bias,
        }
    }

    fn add_quantizer(&mut self, quantizer: Quantizer, ahead: Ahead, value: &mut Value) {
        let drawn = self.plan.parameters.quantization(quantizer, ahead, &mut value.known, self.choices);
        self.quantize(quantizer, drawn, value);
    }

    /// Quantizes and dequantizes a value by a scale and a zero point.
    fn quantize(&mut self, quantizer: Quantizer, (scale, zero_point): (f64, i64), value: &mut Value) {
        let quantization = Quantization {
            axis: None,
            scale: self.plan.parameters.scalar(scale),
            zero_point: quantizer.tensor(vec![], &[zero_point]),
        };
        let rank = 2 + value.extents[0].len();
        value.name = self.add_quantization(value.name.clone(), quantization, rank, true);
        value.scale = Some(scale);
    }

    /// A `DequantizeLinear` of `x`, or of what a `QuantizeLinear` makes of it.
    fn add_quantization(
        &mut self,
        x: String,
        quantization: Quantization,
        rank: usize,
        quantizes: bool,
    ) -> String {
        let Quantization { axis, mut scale, mut zero_point } = quantization;
        if axis.is_none() && self.choices.percent(40) {
            // one value is as good as a vector of one
            for tensor in std::iter::once(&mut scale).chain(&mut zero_point) {
                tensor.shape = vec![1];
            }
        }
        let opset = self.plan.opset;
        let quantizers = self.plan.quantizers;
        let axis = quantizers.and_then(|quantizers| quantizers.attribute(axis, rank, opset, self.choices));
        let parameters: Vec<_> = std::iter::once(("scale", scale))
            .chain(zero_point.map(|zero_point| ("zero_point", zero_point)))
            .map(|(name, tensor)| self.initializer(name, tensor))
            .collect();
        let inputs = |x| std::iter::once(x).chain(parameters.iter().cloned()).collect::<Vec<_>>();
        let integers =
            if quantizes { self.add_node(Op::QuantizeLinear(QuantizeLinear { axis }), inputs(x)) } else { x };
        self.add_node(Op::DequantizeLinear(DequantizeLinear { axis }), inputs(integers))
    }

    fn add_pool(&mut self, pool: Pool, value: &mut Value) {
        let op = pool.op(value.extents[0].len());
        value.extents = value.extents.iter().map(|extents| pool.output(extents)).collect();
        value.scale = None;
        value.name = self.add_node(op, vec![value.name.clone()]);
    }

    /// The values that a part joins, added or put together; quantized in front of that where they do not fit otherwise.
    fn joined(&mut self, part: &Part, ahead: Ahead) -> Value {
        let adds = matches!(part.step, Step::Add);
        let mut values: Vec<_> = part.of.iter().map(|source| self.values[*source].clone()).collect();
        let mut known: Vec<_> = values.iter().map(|value| value.known).collect();
        let fitting = self.plan.parameters.joined(&known, adds, ahead);
        let joined = fitting.unwrap_or_else(|| {
            let scale = self.plan.parameters.common_scale(&mut known, ahead);
            for value in &mut values {
                self.quantize(Quantizer::SYMMETRIC, (scale, 0), value);
            }
            let fitting = self.plan.parameters.joined(&known, adds, ahead);
            fitting.expect("values of one scale have few steps in common")
        });
        let channels = values.iter().map(|value| value.channels);
        let channels = if adds { values[0].channels } else { channels.sum() };
        let names: Vec<_> = values.iter().map(|value| value.name.clone()).collect();
        let name = if adds {
            self.add_node(Op::Add, names)
        } else {
            let rank = 2 + values[0].extents[0].len() as i64;
            let axis = if self.choices.percent(25) { 1 - rank } else { 1 };
            self.add_node(Op::Concat(Concat { axis }), names)
        };
        Value { name, channels, extents: values.swap_remove(0).extents, known: joined, scale: None }
    }

    fn add_neighbour(&mut self, neighbour: Neighbour, value: &mut Value) {
        value.scale = None;
        value.name = match neighbour {
            Neighbour::Relu => self.add_node(Op::Relu, vec![value.name.clone()]),
            Neighbour::AddChannels => self.add_channels(value),
            Neighbour::AddScalar => self.add_constant(vec![], value),
            Neighbour::AddInput => {
                let regime = self.plan.parameters.added_input(&mut value.known);
                let input = Value { name: format!("x{}", self.graph.inputs.len()), ..value.clone() };
                self.add_input(&input, regime);
                self.add_sum(value.name.clone(), input.name)
            }
            Neighbour::AddResidual => match self.residual(value) {
                Some((other, known)) => {
                    value.known = known;
                    self.add_sum(value.name.clone(), other)
                }
                None => self.add_channels(value),
            },
            Neighbour::BatchNormalization => self.add_normalization(value),
        };
    }

    /// An earlier value that can be added to `value`, and what is then known of the sum.
    fn residual(&mut self, value: &Value) -> Option<(String, Knowledge)> {
        let earlier = &self.values[..self.values.len() - 1];
        let same = earlier
            .iter()
            .find(|other| other.channels == value.channels && other.extents == value.extents)?;
        let known = self.plan.parameters.residual(value.known, same.known)?;
        Some((same.name.clone(), known))
    }

    fn add_channels(&mut self, value: &mut Value) -> String {
        let spatial = value.extents[0].len();
        let shape = std::iter::once(value.channels).chain(std::iter::repeat_n(1, spatial)).collect();
        self.add_constant(shape, value)
    }

    fn add_constant(&mut self, shape: Vec<usize>, value: &mut Value) -> String {
        let constant = self.plan.parameters.constant(shape, &mut value.known, self.choices);
        let constant = self.initializer("C", constant);
        self.add_sum(value.name.clone(), constant)
    }

    fn add_sum(&mut self, left: String, right: String) -> String {
        let inputs = if self.choices.percent(50) { vec![left, right] } else { vec![right, left] };
        self.add_node(Op::Add, inputs)
    }

    fn add_normalization(&mut self, value: &mut Value) -> String {
        let drawn = self.plan.parameters.normalization(value.channels, &mut value.known, self.choices);
        let mut inputs = vec![value.name.clone()];
        for (name, values) in [
            ("scale", &drawn.scale),
            ("bias", &drawn.offset),
            ("mean", &drawn.mean),
            ("var", &drawn.variance),
        ] {
            let tensor = self.plan.parameters.tensor(values);
            inputs.push(self.initializer(name, tensor));
        }
        let momentum = self.choices.percent(20).then_some(0.9);
        self.add_node(
            Op::BatchNormalization(BatchNormalization {
                epsilon: drawn.epsilon,
                momentum,
                ..BatchNormalization::default()
            }),
            inputs,
        )
    }

    /// The name of a parameter, from where `source` says.
    fn parameter(&mut self, name: &str, drawn: Drawn, source: Source) -> String {
        match (drawn, source) {
            (Drawn::Integers(quantized), source) => {
                let rank = quantized.integers.shape.len();
                let is_rounded = source == Source::Quantized && quantized.integers.dtype() != DataType::Int32;
                let inner =
                    self.initializer(name, if is_rounded { quantized.numbers } else { quantized.integers });
                self.add_quantization(inner, quantized.quantization, rank, is_rounded)
            }
            (Drawn::Numbers(tensor), Source::Identity) => {
                let inner = self.initializer(name, tensor);
                self.add_node(Op::Identity, vec![inner])
            }
            (Drawn::Numbers(tensor), Source::Sum) => {
                let summands = self.plan.parameters.summands(&tensor, self.choices);
                let inputs = summands.map(|summand| self.initializer(name, summand));
                self.add_node(Op::Add, inputs.to_vec())
            }
            (Drawn::Numbers(tensor), _) => self.initializer(name, tensor),
        }
    }

    fn initializer(&mut self, name: &str, tensor: Tensor) -> String {
        let name = format!("{name}{}", self.graph.initializers.len());
        self.graph.initializers.push(Initializer { name: name.clone(), tensor });
        name
    }

    fn add_node(&mut self, op: Op, inputs: Vec<String>) -> String {
        let place = self.graph.nodes.len();
        let output = format!("y{place}");
        let node = Node { name: format!("node{place}"), op, inputs, outputs: vec![output.clone()] };
        self.graph.nodes.push(node);
        output
    }

    fn add_input(&mut self, value: &Value, regime: Regime) {
        let declared = self.declared(value);
        self.graph.inputs.push(declared);
        let shape = |(point, extents): (&Point, &Vec<usize>)| {
            [point.batch, value.channels].into_iter().chain(extents.iter().copied()).collect()
        };
        let shapes = self.plan.points.iter().zip(&value.extents).map(shape).collect();
        self.feeds.push(Feed { shapes, regime });
    }

    /// The value as the graph declares it: dynamic axes by name, the batch by the same name everywhere.
    fn declared(&self, value: &Value) -> ValueInfo {
        let dim = |dynamic, name: &dyn Fn() -> String, extent| {
            if dynamic { Dim::Symbolic(name()) } else { Dim::Fixed(extent) }
        };
        let Dynamic { batch, spatial } = self.plan.dynamic;
        let batch = dim(batch, &|| "N".to_owned(), self.plan.points[0].batch);
        let spatial = value.extents[0]
            .iter()
            .enumerate()
            .map(|(axis, extent)| dim(spatial, &|| format!("{}_D{axis}", value.name), *extent));
        let shape = [batch, Dim::Fixed(value.channels)].into_iter().chain(spatial).collect();
        ValueInfo { name: value.name.clone(), dtype: self.dtype(), shape: Some(shape) }
    }

    const fn dtype(&self) -> DataType {
        self.plan.precision
    }

    fn latest(&self) -> Value {
        self.values.last().expect("the input is a value").clone()
    }
}

impl Source {
    const fn is_quantized(self) -> bool {
        matches!(self, Self::Dequantized | Self::Quantized)
    }
}

impl Bias {
    const fn form(self) -> Option<BiasForm> {
        match self {
            Self::Absent | Self::Empty => None,
            Self::From(source) if source.is_quantized() => Some(BiasForm::Integers),
            Self::From(_) => Some(BiasForm::Numbers),
        }
    }
}
