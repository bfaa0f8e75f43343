use crate::{Neighbor, Quantizer, layer::Layer, pool::Pool};

/// One computation of a case.
#[derive(Clone, Debug)]
pub struct Part {
    pub operation: Operation,
    /// The values that the part reads.
    pub inputs: Vec<usize>,
}

/// The operation of a part.
#[derive(Clone, Debug)]
pub enum Operation {
    Layer(Layer),
    Neighbor(Neighbor),
    /// Quantizes and dequantizes.
    Quantizer(Quantizer),
    /// Quantizes the last value, so that the graph gives integers.
    QuantizeLinear(Quantizer),
    /// Dequantizes the first value, by this zero point, so that the graph is fed integers.
    DequantizeLinear(Quantizer, i64),
    Pool(Pool),
    /// Adds two values.
    Add,
    /// Concatenates values along the channels.
    Concat,
}

impl Part {
    /// The least input extent along `axis` that gives `output` positions there.
    pub fn least_input(&self, axis: usize, output: usize) -> usize {
        match &self.operation {
            Operation::Layer(layer) => layer.least_input(axis, output),
            Operation::Pool(pool) => pool.least_input(output),
            _ => output,
        }
    }
}
