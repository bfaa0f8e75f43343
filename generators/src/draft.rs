mod feed;
mod inputs;
mod neighbor;
mod parameter;
mod quantization;
mod value;

use twinfer_case::{Case, Expectation, Request};
use twinfer_onnx::{Concat, Graph, Initializer, Node, Op, Tensor};

use crate::{
    Bias, CaseSpace, Choices, Menu, Quantizer, Space,
    exact::Ahead,
    forms::Forms,
    layer::Layer,
    parameters::Knowledge,
    part::{Operation, Part},
    plan::{Plan, Point},
    pool::Pool,
    special,
};
use feed::Feed;
use value::Value;

/// A graph under construction: its plan and the part that is built.
pub struct Draft<'a> {
    space: &'a Space,
    choices: &'a mut Choices,
    plan: Plan<'a>,
    graph: Graph,
    feeds: Vec<Feed>,
    /// What nodes have computed so far, the latest last.
    values: Vec<Value>,
}

impl CaseSpace for Space {
    fn draw(&self, choices: &mut Choices) -> Case {
        let mut case = Draft::case(self, choices);
        // drawn last, so that all other choices are the same without it
        if self.special.draw(choices) {
            special::strew(&mut case, choices);
        }
        for _ in 0..2 {
            if let Some(rewrite) = self.rewrites.draw(choices) {
                rewrite.apply(&mut case, choices);
            }
        }
        case
    }
}

impl CaseSpace for Menu<Space> {
    fn draw(&self, choices: &mut Choices) -> Case {
        Self::draw(self, choices).draw(choices)
    }
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
        self.add_first_input(&ahead);
        for (part, ahead) in std::mem::take(&mut self.plan.parts).iter().zip(&ahead[1..]) {
            let mut value = self.values[part.inputs[0]].clone();
            match &part.operation {
                Operation::Layer(layer) => self.add_layer(layer, *ahead, &mut value),
                Operation::Neighbor(neighbor) => self.add_neighbor(*neighbor, &mut value),
                Operation::Quantizer(quantizer) => self.add_quantizer(*quantizer, *ahead, &mut value),
                Operation::QuantizeLinear(quantizer) => {
                    self.add_last_quantizer(*quantizer, *ahead, &mut value);
                }
                Operation::DequantizeLinear(quantizer, zero_point) => {
                    self.add_first_dequantizer(*quantizer, *zero_point, &mut value);
                }
                Operation::Pool(pool) => self.add_pool(*pool, &mut value),
                Operation::Add | Operation::Concat => {
                    value = self.joined(part, *ahead);
                }
            }
            self.values.push(value);
        }
    }

    fn add_first_input(&mut self, ahead: &[Ahead]) {
        let parameters = &self.plan.parameters;
        let (dtype, (regime, known)) = match self.plan.parts.first().map(|part| &part.operation) {
            Some(Operation::DequantizeLinear(quantizer, zero_point)) => {
                (quantizer.dtype, parameters.integers(*quantizer, *zero_point, ahead[1], self.choices))
            }
            _ => (self.plan.precision, parameters.input(ahead[0], self.choices)),
        };
        let point = |point: &Point| point.spatial.clone();
        let extents: Vec<_> = self.plan.points.iter().map(point).collect();
        let layers = self.plan.parts.iter().find_map(|part| match &part.operation {
            Operation::Layer(layer) => Some(layer.input_channels()),
            _ => None,
        });
        let channels = layers.expect("every case has a convolution");
        let input = Value { name: "x".to_owned(), dtype, channels, extents, known, scale: None };
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

    fn add_pool(&mut self, pool: Pool, value: &mut Value) {
        let op = pool.op();
        value.extents = value.extents.iter().map(|extents| pool.output(extents)).collect();
        value.scale = None;
        if let Knowledge::Grid(grid) = &mut value.known {
            grid.refine(pool.refinement());
        }
        value.name = self.add_node(op, vec![value.name.clone()]);
    }

    /// The values that a part joins, added or put together; quantized in front of that where they do not fit otherwise.
    fn joined(&mut self, part: &Part, ahead: Ahead) -> Value {
        let adds = matches!(part.operation, Operation::Add);
        let mut values: Vec<_> = part.inputs.iter().map(|source| self.values[*source].clone()).collect();
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
        Value { name, channels, known: joined, scale: None, ..values.swap_remove(0) }
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

    fn latest(&self) -> Value {
        self.values.last().expect("the input is a value").clone()
    }
}
