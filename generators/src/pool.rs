use twinfer_onnx::{MaxPool, Op};

use crate::Choices;

/// A maximum pooling, the same along every axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    kernel: usize,
    stride: usize,
    /// At both ends.
    pad: usize,
    rounds_up: bool,
    /// Whether attributes with their default values are written.
    is_explicit: bool,
}

impl Pool {
    pub fn draw(choices: &mut Choices) -> Self {
        let (kernel, stride, pad) =
            *choices.one_of(&[(2, 2, 0), (2, 2, 1), (3, 2, 1), (3, 2, 0), (3, 1, 1), (2, 1, 0)]);
        // rounded up, its last window could lie in the padding alone: ONNX's shape inference counts it, its text does not
        let rounds_up = stride > 1 && choices.percent(30) && pad + stride <= kernel;
        Self { kernel, stride, pad, rounds_up, is_explicit: choices.percent(50) }
    }

    /// The least extent that gives `output` positions without rounding up.
    pub const fn least_input(self, output: usize) -> usize {
        let least = (output - 1) * self.stride + self.kernel - 2 * self.pad;
        if least == 0 { 1 } else { least }
    }

    pub fn output(self, input: &[usize]) -> Vec<usize> {
        let geometry = self.attributes(input.len()).geometry(input);
        geometry.expect("the input is large enough").axes.iter().map(|axis| axis.output).collect()
    }

    pub fn op(self, rank: usize) -> Op {
        Op::MaxPool(self.attributes(rank))
    }

    fn attributes(self, rank: usize) -> MaxPool {
        let each = |value: usize| vec![value as i64; rank];
        MaxPool {
            ceil_mode: (self.rounds_up || self.is_explicit).then_some(i64::from(self.rounds_up)),
            kernel_shape: each(self.kernel),
            pads: (self.pad > 0 || self.is_explicit).then(|| [each(self.pad), each(self.pad)].concat()),
            strides: (self.stride > 1 || self.is_explicit).then(|| each(self.stride)),
            ..MaxPool::default()
        }
    }
}
