//! The terms of the sums that one operator computes, found without golden.

use twinfer_onnx::{Axis, Graph, Op, Tensor};

/// The terms of the sum that is one element of an output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    pub count: usize,
    /// Roundings of what the terms are products with, beyond those of the sum.
    pub roundings: usize,
    /// The sum of their absolute values.
    pub magnitude: f64,
}

/// The roundings of the factor of BatchNormalization: of the sum with epsilon, two of an approximate root and two of a quotient, of the
/// product with the scale, and of the difference from the mean.
const NORMALIZING_ROUNDINGS: usize = 7;

impl Terms {
    fn add(&mut self, term: f64) {
        self.count += 1;
        self.magnitude += term.abs();
    }

    fn of(terms: &[f64]) -> Self {
        let mut sum = Self::default();
        for term in terms {
            sum.add(*term);
        }
        sum
    }
}

/// The terms of each element of the output of a graph of one node; `None` if the node computes no sum of floats.
pub fn terms(graph: &Graph, inputs: &[Tensor], output: &Tensor) -> Option<Vec<Terms>> {
    let [node] = graph.nodes.as_slice() else { return None };
    let operand = |place: usize| {
        let name = node.inputs.get(place).filter(|name| !name.is_empty())?;
        let fed = graph.inputs.iter().position(|input| input.name == *name);
        fed.and_then(|place| inputs.get(place)).or_else(|| graph.initializer(name))
    };
    let (x, places) = (operand(0)?, 0..output.len());
    match &node.op {
        Op::Add => {
            let parts = [Operand::new(x), Operand::new(operand(1)?)];
            let at = |place| parts.each_ref().map(|part| part.broadcast(place, &output.shape));
            Some(places.map(|place| Terms::of(&at(place))).collect())
        }
        Op::BatchNormalization(op) => {
            let parameters = [operand(1)?, operand(2)?, operand(3)?, operand(4)?].map(Operand::new);
            let x = Operand::new(x);
            let inner: usize = x.shape[2..].iter().product();
            let at = |place: usize| {
                let channel = place / inner % x.shape[1];
                let [scale, bias, mean, variance] =
                    parameters.each_ref().map(|parameter| parameter.values[channel]);
                let factor = scale / (variance + f64::from(op.epsilon.unwrap_or(1e-5))).sqrt();
                let terms = Terms::of(&[x.values[place] * factor, mean * factor, bias]);
                Terms { roundings: NORMALIZING_ROUNDINGS, ..terms }
            };
            Some(places.map(at).collect())
        }
        Op::DequantizeLinear(_) => {
            Some(output.to_f64().iter().map(|product| Terms::of(&[*product])).collect())
        }
        op => {
            let window = op.window()?;
            let (x, w) = (Operand::new(x), Operand::new(operand(1)?));
            let geometry = window.geometry(&x.shape[2..], &w.shape[2..]).ok()?;
            let bias = operand(2).map(Tensor::to_f64);
            let sums =
                Sums { x, w, axes: geometry.axes, group: geometry.group, transposed: window.transposed };
            Some(places.map(|place| sums.at(&indices(place, &output.shape), bias.as_deref())).collect())
        }
    }
}

struct Operand {
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl Operand {
    fn new(tensor: &Tensor) -> Self {
        Self { shape: tensor.shape.clone(), values: tensor.to_f64() }
    }

    fn at(&self, indices: impl IntoIterator<Item = usize>) -> f64 {
        self.values
            [indices.into_iter().zip(&self.shape).fold(0, |place, (index, extent)| place * extent + index)]
    }

    /// The element that is broadcast to a place of a tensor of `shape`.
    fn broadcast(&self, place: usize, shape: &[usize]) -> f64 {
        let indices = indices(place, shape);
        let own = indices[shape.len() - self.shape.len()..].iter().zip(&self.shape);
        self.at(own.map(|(index, extent)| if *extent == 1 { 0 } else { *index }).collect::<Vec<_>>())
    }
}

/// The index along each axis.
fn indices(place: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = place;
    let mut indices: Vec<_> = shape
        .iter()
        .rev()
        .map(|extent| {
            let index = rest % extent;
            rest /= extent;
            index
        })
        .collect();
    indices.reverse();
    indices
}

/// A convolution.
struct Sums {
    x: Operand,
    w: Operand,
    axes: Vec<Axis>,
    group: usize,
    transposed: bool,
}

impl Sums {
    fn at(&self, output: &[usize], bias: Option<&[f64]>) -> Terms {
        let (batch, channel) = (output[0], output[1]);
        let inputs = self.x.shape[1] / self.group;
        let outputs = if self.transposed { self.w.shape[1] } else { self.w.shape[0] / self.group };
        let (first, own) = (channel / outputs * inputs, channel % outputs);
        let mut sum = Terms::default();
        if let Some(bias) = bias {
            sum.add(bias[channel]);
        }
        let kernel = &self.w.shape[2..];
        for tap in (0..kernel.iter().product()).map(|place| indices(place, kernel)) {
            let Some(reached) = self.reached(&output[2..], &tap) else { continue };
            for input in 0..inputs {
                let x = [batch, first + input].into_iter().chain(reached.iter().copied());
                let kernel = if self.transposed { [first + input, own] } else { [channel, input] };
                sum.add(self.x.at(x) * self.w.at(kernel.into_iter().chain(tap.iter().copied())));
            }
        }
        sum
    }

    /// The input position that a tap connects with an output position; `None` if there is none.
    fn reached(&self, output: &[usize], tap: &[usize]) -> Option<Vec<usize>> {
        let along = |((axis, output), tap): ((&Axis, &usize), &usize)| {
            let position = if self.transposed {
                let from_first = (output + axis.pad_begin).checked_sub(tap * axis.dilation)?;
                from_first.is_multiple_of(axis.stride).then_some(from_first / axis.stride)?
            } else {
                (output * axis.stride + tap * axis.dilation).checked_sub(axis.pad_begin)?
            };
            (position < axis.input).then_some(position)
        };
        self.axes.iter().zip(output).zip(tap).map(along).collect()
    }
}
