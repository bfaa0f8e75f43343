use twinfer_onnx::{AutoPad, AveragePool, MaxPool, Op};

use crate::{Choices, PoolForm, Pooling, setting::Setting};

/// A pooling, the same along every axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    pooling: Pooling,
    form: PoolForm,
    /// The number of spatial axes.
    rank: usize,
    kernel: usize,
    stride: usize,
    /// At both ends; none if `auto_pad` is written.
    pad: usize,
    dilation: usize,
    rounds_up: bool,
    /// Whether attributes with their default values are written.
    is_explicit: bool,
}

/// Kernel, stride and pad.
const FORMS: [(usize, usize, usize); 6] = [(2, 2, 0), (2, 2, 1), (3, 2, 1), (3, 2, 0), (3, 1, 1), (2, 1, 0)];

impl Pool {
    pub fn draw(pooling: Pooling, form: PoolForm, setting: Setting, choices: &mut Choices) -> Self {
        let forms: Vec<_> =
            FORMS.into_iter().filter(|(kernel, ..)| setting.suits_pool(pooling, *kernel)).collect();
        let (kernel, stride, pad) = *choices.one_of(&forms);
        // rounded up, its last window could lie in the padding alone: ONNX's shape inference counts it, its text does not
        let rounds_up = stride > 1 && choices.percent(30) && pad + stride <= kernel;
        // a window that reaches beyond the padding that counts is not specified
        let rounds_up = rounds_up && pooling != Pooling::AverageWithPadding && form == PoolForm::Plain;
        let pad = if matches!(form, PoolForm::Plain | PoolForm::Dilated) { pad } else { 0 };
        let is_dilated = form == PoolForm::Dilated && setting.dilates(pooling);
        let dilation = if is_dilated { 2 } else { 1 };
        let is_explicit = choices.percent(50);
        Self { pooling, form, rank: setting.rank, kernel, stride, pad, dilation, rounds_up, is_explicit }
    }

    /// The least extent that gives `output` positions without rounding up.
    pub const fn least_input(self, output: usize) -> usize {
        let span = (self.kernel - 1) * self.dilation + 1;
        let covered = (output - 1) * self.stride + span;
        match self.form {
            PoolForm::SameUpper | PoolForm::SameLower => (output - 1) * self.stride + 1,
            _ if covered > 2 * self.pad => covered - 2 * self.pad,
            _ => 1,
        }
    }

    /// The power of two by which it may divide the step of exact values.
    pub const fn refinement(self) -> u32 {
        match self.pooling {
            Pooling::Max => 0,
            Pooling::Average | Pooling::AverageWithPadding => self.rank as u32,
        }
    }

    /// The factor by which it may raise the bound of a value.
    pub const fn growth(self) -> u64 {
        1 << self.refinement()
    }

    pub fn output(self, input: &[usize]) -> Vec<usize> {
        let geometry = match self.op() {
            Op::AveragePool(op) => op.geometry(input),
            _ => self.max_pool().geometry(input),
        };
        geometry.expect("the input is large enough").axes.iter().map(|axis| axis.output).collect()
    }

    pub fn op(self) -> Op {
        let MaxPool { auto_pad, ceil_mode, dilations, kernel_shape, pads, strides, .. } = self.max_pool();
        let counts_padding = match self.pooling {
            Pooling::Max => return Op::MaxPool(self.max_pool()),
            Pooling::Average => false,
            Pooling::AverageWithPadding => true,
        };
        Op::AveragePool(AveragePool {
            auto_pad,
            ceil_mode,
            count_include_pad: (counts_padding || self.is_explicit).then_some(i64::from(counts_padding)),
            dilations,
            kernel_shape,
            pads,
            strides,
        })
    }

    const fn auto_pad(self) -> Option<AutoPad> {
        match self.form {
            PoolForm::Plain | PoolForm::Dilated => None,
            PoolForm::SameUpper => Some(AutoPad::SameUpper),
            PoolForm::SameLower => Some(AutoPad::SameLower),
            PoolForm::Valid => Some(AutoPad::Valid),
        }
    }

    fn max_pool(self) -> MaxPool {
        let each = |value: usize| vec![value as i64; self.rank];
        let auto_pad = self.auto_pad();
        let writes_pads = auto_pad.is_none() && (self.pad > 0 || self.is_explicit);
        MaxPool {
            auto_pad,
            dilations: (self.dilation > 1).then(|| each(self.dilation)),
            ceil_mode: (self.rounds_up || self.is_explicit).then_some(i64::from(self.rounds_up)),
            kernel_shape: each(self.kernel),
            pads: writes_pads.then(|| [each(self.pad), each(self.pad)].concat()),
            strides: (self.stride > 1 || self.is_explicit).then(|| each(self.stride)),
            ..MaxPool::default()
        }
    }
}
