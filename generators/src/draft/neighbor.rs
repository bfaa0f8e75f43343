use twinfer_onnx::{BatchNormalization, LeakyRelu, Op};

use super::{Draft, value::Value};
use crate::{Neighbor, parameters::Knowledge};

impl Draft<'_> {
    pub(super) fn add_neighbor(&mut self, neighbor: Neighbor, value: &mut Value) {
        value.scale = None;
        value.name = match neighbor {
            Neighbor::Relu => self.add_node(Op::Relu, vec![value.name.clone()]),
            Neighbor::AddChannels => self.add_channels(value),
            Neighbor::AddScalar => self.add_constant(vec![], value),
            Neighbor::AddInput => {
                let regime = self.plan.parameters.added_input(&mut value.known);
                let input = Value { name: format!("x{}", self.graph.inputs.len()), ..value.clone() };
                self.add_input(&input, regime);
                self.add_sum(value.name.clone(), input.name)
            }
            Neighbor::AddResidual => match self.residual(value) {
                Some((other, known)) => {
                    value.known = known;
                    self.add_sum(value.name.clone(), other)
                }
                None => self.add_channels(value),
            },
            Neighbor::BatchNormalization => self.add_normalization(value),
            Neighbor::Clip => self.add_clip(value),
            Neighbor::HardSwish => self.add_node(Op::HardSwish, vec![value.name.clone()]),
            Neighbor::LeakyRelu => {
                let alpha = self.plan.parameters.slope(&mut value.known, self.choices);
                self.add_node(Op::LeakyRelu(LeakyRelu { alpha }), vec![value.name.clone()])
            }
            Neighbor::Swish => {
                let gate = self.add_node(Op::Sigmoid, vec![value.name.clone()]);
                self.add_commutative(Op::Mul, value.name.clone(), gate)
            }
        };
    }

    /// An earlier value that can be added to `value`, and what is then known of the sum.
    fn residual(&mut self, value: &Value) -> Option<(String, Knowledge)> {
        let earlier = &self.values[..self.values.len() - 1];
        let is_alike = |other: &&Value| {
            other.dtype == value.dtype && other.channels == value.channels && other.extents == value.extents
        };
        let same = earlier.iter().find(is_alike)?;
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
        self.add_commutative(Op::Add, left, right)
    }

    fn add_commutative(&mut self, op: Op, left: String, right: String) -> String {
        let inputs = if self.choices.percent(50) { vec![left, right] } else { vec![right, left] };
        self.add_node(op, inputs)
    }

    fn add_clip(&mut self, value: &mut Value) -> String {
        let bounded = *self.choices.one_of(&[(true, true), (true, true), (true, false), (false, true)]);
        let bounds = self.plan.parameters.clip(bounded, &mut value.known, self.choices);
        let mut inputs = vec![value.name.clone()];
        for (name, bound) in ["min", "max"].into_iter().zip(bounds) {
            inputs.push(bound.map_or_else(String::new, |bound| self.initializer(name, bound)));
        }
        if inputs.last().is_some_and(String::is_empty) {
            inputs.pop();
        }
        self.add_node(Op::Clip, inputs)
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
}
