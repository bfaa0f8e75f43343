use twinfer_case::{Case, Expectation, Recipe, Regime, Request, Run, TensorSource};
use twinfer_onnx::{BatchNormalization, DataType, Dim, Graph, Initializer, Node, Op, Tensor, ValueInfo};

use crate::{
    Bias, Choices, Dynamic, Neighbour, Source, Space,
    layer::Layer,
    parameters::Knowledge,
    plan::{Plan, Point},
};

/// A graph under construction: the plan that it follows, and what of it stands.
pub struct Draft<'a> {
    space: &'a Space,
    choices: &'a mut Choices,
    plan: Plan,
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
        let (regime, known) = self.plan.parameters.input(self.choices);
        let channels = self.plan.layers[0].input_channels();
        let extents = self.plan.points.iter().map(|point| point.spatial.clone()).collect();
        let input = Value { name: "x".to_owned(), channels, extents, known };
        self.add_input(&input, regime);
        self.values.push(input);
        for neighbour in std::mem::take(&mut self.plan.before) {
            self.add_neighbour(neighbour);
        }
        let layers = std::mem::take(&mut self.plan.layers);
        for (layer, after) in layers.iter().zip(std::mem::take(&mut self.plan.after)) {
            self.add_layer(layer);
            for neighbour in after {
                self.add_neighbour(neighbour);
            }
        }
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

    fn add_layer(&mut self, layer: &Layer) {
        let mut value = self.latest();
        let bias = self.space.bias.draw(self.choices);
        let biased = matches!(bias, Bias::From(_));
        let (weights, offsets) =
            self.plan.parameters.convolution(layer, biased, &mut value.known, self.choices);
        let source = self.space.weights.draw(self.choices);
        let mut inputs = vec![value.name, self.parameter("W", weights, source)];
        match (bias, offsets) {
            (Bias::From(source), Some(offsets)) => inputs.push(self.parameter("B", offsets, source)),
            (Bias::Empty, _) => inputs.push(String::new()),
            _ => {}
        }
        let op = layer.op();
        value.extents = value.extents.iter().map(|extents| layer.output(&op, extents)).collect();
        value.channels = layer.output_channels();
        value.name = self.add_node(op, inputs);
        self.values.push(value);
    }

    fn add_neighbour(&mut self, neighbour: Neighbour) {
        let mut value = self.latest();
        value.name = match neighbour {
            Neighbour::Relu => self.add_node(Op::Relu, vec![value.name]),
            Neighbour::AddChannels => self.add_channels(&mut value),
            Neighbour::AddScalar => self.add_constant(vec![], &mut value),
            Neighbour::AddInput => {
                let regime = self.plan.parameters.added_input(&mut value.known);
                let input = Value { name: format!("x{}", self.graph.inputs.len()), ..value.clone() };
                self.add_input(&input, regime);
                self.add_sum(value.name, input.name)
            }
            Neighbour::AddResidual => match self.residual(&value) {
                Some((other, known)) => {
                    value.known = known;
                    self.add_sum(value.name, other)
                }
                None => self.add_channels(&mut value),
            },
            Neighbour::BatchNormalization => self.add_normalization(&mut value),
        };
        self.values.push(value);
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

    /// The name of a value that is `tensor`, from where `source` says.
    fn parameter(&mut self, name: &str, tensor: Tensor, source: Source) -> String {
        match source {
            Source::Initializer => self.initializer(name, tensor),
            Source::Identity => {
                let inner = self.initializer(name, tensor);
                self.add_node(Op::Identity, vec![inner])
            }
            Source::Sum => {
                let summands = self.plan.parameters.summands(&tensor, self.choices);
                let inputs = summands.map(|summand| self.initializer(name, summand));
                self.add_node(Op::Add, inputs.to_vec())
            }
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
