use twinfer_onnx::{Channels, Op};

use crate::{
    Choices, Operator, OutputPadding, Padding, Space,
    axis::{LayerAxis, LayerKind},
    caps::Caps,
    channels,
    written::Written,
};

/// One convolution of a case, without the extents of its input.
#[derive(Clone, Debug)]
pub struct Layer {
    pub operator: Operator,
    pub channels: Channels,
    pub axes: Vec<LayerAxis>,
    pub padding: Padding,
    /// `output_shape`, once the extents are known.
    pub output_shape: Option<Vec<usize>>,
    pub output_padding: OutputPadding,
    pub written: Written,
}

/// How a Conv is padded so that extents are divided by the stride.
const DIVIDING: [Padding; 8] = [
    Padding::Symmetric,
    Padding::Symmetric,
    Padding::Symmetric,
    Padding::Symmetric,
    Padding::Symmetric,
    Padding::NotSet,
    Padding::SameUpper,
    Padding::SameLower,
];

impl Layer {
    /// A layer of `operator` with these channels.
    pub fn draw(
        space: &Space,
        operator: Operator,
        channels: Channels,
        rank: usize,
        caps: Caps,
        choices: &mut Choices,
    ) -> Self {
        let (padding, output_padding) = match operator {
            Operator::Conv => (space.conv_padding.draw(choices), OutputPadding::Absent),
            Operator::ConvTranspose => {
                (space.deconv_padding.draw(choices), space.output_padding.draw(choices))
            }
        };
        // ONNX's shape inference adds output_padding to what auto_pad SAME should give, and beside output_shape it only moves
        // the split: seldom worth a case
        let output_padding = match output_padding {
            OutputPadding::BelowStride | OutputPadding::BelowDilation
                if padding.is_same() && choices.percent(80)
                    || padding.has_output_shape() && choices.percent(50) =>
            {
                space.output_padding.draw_among(choices, |form| form.is_zero())
            }
            form => form,
        };
        let kind = LayerKind { operator, padding, output_padding };
        // the axis that what was drawn is sure to be seen on
        let marked = choices.below(rank);
        let axes =
            (0..rank).map(|axis| LayerAxis::draw(space, kind, axis == marked, caps, choices)).collect();
        Self::of(kind, channels, axes, Written::draw(space, choices))
    }

    /// A Conv of an odd kernel that divides extents by the stride, rounding up.
    pub fn dividing(
        space: &Space,
        channels: (usize, usize),
        rank: usize,
        (kernel, stride): (usize, usize),
        choices: &mut Choices,
    ) -> Self {
        let dilation = if kernel == 3 && choices.percent(10) { 2 } else { 1 };
        let pad = (kernel - 1) * dilation / 2;
        let window = LayerAxis { kernel, stride, dilation, pads: (pad, pad), output_padding: 0 };
        let padding = match (dilation, kernel) {
            (_, 1) if choices.percent(50) => Padding::Absent,
            (1, 3..) => *choices.one_of(&DIVIDING),
            _ => Padding::Symmetric,
        };
        let kind = LayerKind { operator: Operator::Conv, padding, output_padding: OutputPadding::Absent };
        let channels = channels::between(space, channels, choices);
        Self::of(kind, channels, vec![window; rank], Written::draw(space, choices))
    }

    /// A ConvTranspose that doubles extents.
    pub fn doubling(space: &Space, channels: (usize, usize), rank: usize, choices: &mut Choices) -> Self {
        let (kernel, pad, output_padding) = *choices.one_of(&[(2, 0, 0), (4, 1, 0), (3, 1, 1)]);
        let window = LayerAxis { kernel, stride: 2, dilation: 1, pads: (pad, pad), output_padding };
        let padding = if pad == 0 { Padding::Absent } else { Padding::Symmetric };
        let form = if output_padding == 0 { OutputPadding::Absent } else { OutputPadding::BelowStride };
        let kind = LayerKind { operator: Operator::ConvTranspose, padding, output_padding: form };
        let channels = channels::between(space, channels, choices);
        Self::of(kind, channels, vec![window; rank], Written::draw(space, choices))
    }

    const fn of(kind: LayerKind, channels: Channels, axes: Vec<LayerAxis>, written: Written) -> Self {
        let LayerKind { operator, padding, output_padding } = kind;
        Self { operator, channels, axes, padding, output_shape: None, output_padding, written }
    }

    pub const fn input_channels(&self) -> usize {
        self.channels.all_inputs()
    }

    pub const fn output_channels(&self) -> usize {
        self.channels.all_outputs()
    }

    /// The taps that an output element is a sum over, at most.
    pub fn taps(&self) -> usize {
        self.channels.inputs * self.axes.iter().map(|axis| axis.kernel).product::<usize>()
    }

    /// The output channel that an element of the weight, counted in row-major order, contributes to.
    pub fn output_channel_of(&self, element: usize) -> usize {
        let kernel: usize = self.axes.iter().map(|axis| axis.kernel).product();
        match self.operator {
            Operator::Conv => element / (kernel * self.channels.inputs),
            Operator::ConvTranspose => {
                let (input, output) =
                    (element / kernel / self.channels.outputs, element / kernel % self.channels.outputs);
                input / self.channels.inputs * self.channels.outputs + output
            }
        }
    }

    /// The axis of the weight that output channels lie along, within their group for ConvTranspose.
    pub const fn output_axis(&self) -> usize {
        match self.operator {
            Operator::Conv => 0,
            Operator::ConvTranspose => 1,
        }
    }

    /// The place of an output channel along that axis.
    pub const fn place_of_output(&self, channel: usize) -> usize {
        match self.operator {
            Operator::Conv => channel,
            Operator::ConvTranspose => channel % self.channels.outputs,
        }
    }

    pub fn weight_shape(&self) -> Vec<usize> {
        let channels = match self.operator {
            Operator::Conv => [self.output_channels(), self.channels.inputs],
            Operator::ConvTranspose => [self.input_channels(), self.channels.outputs],
        };
        channels.into_iter().chain(self.axes.iter().map(|axis| axis.kernel)).collect()
    }

    /// The least input extent along `axis` that gives `output` positions there.
    pub fn least_input(&self, axis: usize, output: usize) -> usize {
        let window = &self.axes[axis];
        let (stride, pads) = (window.stride, window.pads.0 + window.pads.1);
        match (self.operator, self.padding) {
            (Operator::Conv, Padding::SameUpper | Padding::SameLower) => (output - 1) * stride + 1,
            (Operator::Conv, _) => ((output - 1) * stride + window.span()).saturating_sub(pads).max(1),
            (Operator::ConvTranspose, padding) => {
                let cropped = if padding.has_output_shape() { 0 } else { pads };
                let natural = (output + cropped).saturating_sub(window.output_padding + window.span());
                let strided = if padding.is_same() { output.div_ceil(stride) } else { 1 };
                (natural.div_ceil(stride) + 1).max(strided)
            }
        }
    }

    /// Extent of a ConvTranspose along `axis` before anything is cropped.
    pub fn natural_output(&self, axis: usize, input: usize) -> usize {
        let window = &self.axes[axis];
        window.stride * (input - 1) + window.output_padding + window.span()
    }

    /// The output extents for these input extents.
    pub fn output(&self, op: &Op, input: &[usize]) -> Vec<usize> {
        let kernel: Vec<_> = self.axes.iter().map(|axis| axis.kernel).collect();
        let window = op.window().expect("a layer is a convolution");
        let geometry =
            window.geometry(input, &kernel).expect("a layer is valid on the extents it was drawn for");
        geometry.axes.iter().map(|axis| axis.output).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output extent along `axis`; `None` if the output has no position.
    fn output(layer: &Layer, axis: usize, input: usize) -> Option<usize> {
        let mut extents = vec![40; layer.axes.len()];
        extents[axis] = input;
        let kernel: Vec<_> = layer.axes.iter().map(|axis| axis.kernel).collect();
        let op = layer.op();
        let window = op.window().expect("a layer is a convolution");
        window.geometry(&extents, &kernel).ok().map(|geometry| geometry.axes[axis].output)
    }

    #[test]
    fn the_least_input_suffices_and_one_less_does_not() {
        let mut choices = Choices::of_index(9, 0);
        for space in [Space::convolutions(), Space::deconvolutions()] {
            for _ in 0..2000 {
                let rank = choices.within(1..=3);
                let caps = Caps::of(rank, 1);
                let channels = channels::draw(&space, caps, &mut choices);
                let layer = Layer::draw(&space, space.lead, channels, rank, caps, &mut choices);
                if layer.padding.has_output_shape() {
                    continue;
                }
                let (axis, wanted) = (choices.below(rank), choices.within(1..=6));
                let least = layer.least_input(axis, wanted);
                assert!(output(&layer, axis, least) >= Some(wanted), "{least} for {wanted} of {layer:?}");
                let less = (least > 1).then(|| output(&layer, axis, least - 1)).flatten();
                assert!(less < Some(wanted), "{least} is not the least for {wanted} of {layer:?}");
            }
        }
    }
}
