//! A layer as the operator that it becomes, with its attributes.

use twinfer_onnx::{Conv, ConvTranspose, Op};

use crate::{Operator, OutputPadding, axis::LayerAxis, layer::Layer};

impl Layer {
    /// The operator with its attributes.
    pub fn op(&self) -> Op {
        match self.operator {
            Operator::Conv => Op::Conv(Conv {
                auto_pad: self.padding.auto_pad(),
                dilations: self.per_axis(self.written.dilations, 1, |axis| axis.dilation),
                group: self.group(),
                kernel_shape: self.written.kernel_shape.then(|| self.each(|axis| axis.kernel)),
                pads: self.pads(),
                strides: self.per_axis(self.written.strides, 1, |axis| axis.stride),
            }),
            Operator::ConvTranspose => Op::ConvTranspose(ConvTranspose {
                auto_pad: self.padding.auto_pad(),
                dilations: self.per_axis(self.written.dilations, 1, |axis| axis.dilation),
                group: self.group(),
                kernel_shape: self.written.kernel_shape.then(|| self.each(|axis| axis.kernel)),
                output_padding: (self.output_padding != OutputPadding::Absent)
                    .then(|| self.each(|axis| axis.output_padding)),
                output_shape: self
                    .output_shape
                    .as_ref()
                    .map(|shape| shape.iter().map(|x| *x as i64).collect()),
                pads: self.pads(),
                strides: self.per_axis(self.written.strides, 1, |axis| axis.stride),
            }),
        }
    }

    fn group(&self) -> Option<i64> {
        let group = self.channels.group;
        (group != 1 || self.written.group).then_some(group as i64)
    }

    fn pads(&self) -> Option<Vec<i64>> {
        self.padding.writes_pads().then(|| {
            let begin = self.axes.iter().map(|axis| axis.pads.0 as i64);
            begin.chain(self.axes.iter().map(|axis| axis.pads.1 as i64)).collect()
        })
    }

    fn per_axis(&self, written: bool, default: usize, of: impl Fn(&LayerAxis) -> usize) -> Option<Vec<i64>> {
        let needed = self.axes.iter().any(|axis| of(axis) != default);
        (needed || written).then(|| self.each(of))
    }

    fn each(&self, of: impl Fn(&LayerAxis) -> usize) -> Vec<i64> {
        self.axes.iter().map(|axis| of(axis) as i64).collect()
    }
}
