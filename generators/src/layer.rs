use twinfer_onnx::{AutoPad, Conv, ConvTranspose, Op};

use crate::{Choices, Grouping, Operator, OutputPadding, Padding, Space};

/// One convolution of a case: all of it but the extents it is applied to.
#[derive(Clone, Debug)]
pub struct Layer {
    pub operator: Operator,
    pub group: usize,
    pub inputs_per_group: usize,
    pub outputs_per_group: usize,
    pub axes: Vec<Window>,
    pub padding: Padding,
    /// `output_shape`, once the extents are known.
    pub output_shape: Option<Vec<usize>>,
    output_padding: OutputPadding,
    written: Written,
}

/// The attributes along one spatial axis.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub kernel: usize,
    pub stride: usize,
    pub dilation: usize,
    pub pads: (usize, usize),
    pub output_padding: usize,
}

/// Which of the optional attributes are written though the backend could do without.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each attribute is written or not on its own")]
struct Written {
    kernel_shape: bool,
    strides: bool,
    dilations: bool,
    group: bool,
}

/// How large a layer may be, so that a case takes microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    pub channels: usize,
    pub kernel: usize,
    pub stride: usize,
    /// How much further than the least an extent may be.
    pub slack: usize,
}

impl Caps {
    /// For a case of so many spatial axes and so many convolutions.
    pub const fn of(rank: usize, length: usize) -> Self {
        match (rank, length) {
            (1, 1) => Self { channels: 24, kernel: 5, stride: 4, slack: 8 },
            (1, _) => Self { channels: 12, kernel: 5, stride: 4, slack: 5 },
            (2, 1) => Self { channels: 16, kernel: 5, stride: 4, slack: 4 },
            (2, _) => Self { channels: 8, kernel: 3, stride: 2, slack: 2 },
            (_, 1) => Self { channels: 8, kernel: 3, stride: 3, slack: 2 },
            (_, _) => Self { channels: 6, kernel: 3, stride: 2, slack: 1 },
        }
    }

    /// For a block in so many spatial axes.
    pub const fn of_block(rank: usize) -> Self {
        match rank {
            1 => Self { channels: 16, kernel: 5, stride: 2, slack: 8 },
            2 => Self { channels: 16, kernel: 5, stride: 2, slack: 5 },
            _ => Self { channels: 8, kernel: 3, stride: 2, slack: 3 },
        }
    }
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

impl Window {
    /// Extent of the kernel with its dilation.
    pub const fn span(&self) -> usize {
        (self.kernel - 1) * self.dilation + 1
    }
}

impl Layer {
    /// A layer of `operator`; its input channels are given, or its own choice where it is the first.
    pub fn draw(
        space: &Space,
        operator: Operator,
        channels: Option<usize>,
        rank: usize,
        caps: Caps,
        choices: &mut Choices,
    ) -> Self {
        let (group, inputs_per_group) = match channels {
            Some(channels) => split(space, channels, choices),
            None => groups(space, caps, choices),
        };
        let outputs_per_group =
            space.channels.draw_among(choices, |count| count * group <= caps.channels.max(group));
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
        // the axis that what was drawn is sure to be seen on
        let marked = choices.below(rank);
        let axes = (0..rank)
            .map(|axis| window(space, operator, padding, output_padding, axis == marked, caps, choices))
            .collect();
        Self {
            operator,
            group,
            inputs_per_group,
            outputs_per_group,
            axes,
            padding,
            output_shape: None,
            output_padding,
            written: Written::draw(space, choices),
        }
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
        let window = Window { kernel, stride, dilation, pads: (pad, pad), output_padding: 0 };
        let padding = match (dilation, kernel) {
            (_, 1) if choices.percent(50) => Padding::Absent,
            (1, 3..) => *choices.one_of(&DIVIDING),
            _ => Padding::Symmetric,
        };
        Self::uniform(
            space,
            Operator::Conv,
            channels,
            vec![window; rank],
            (padding, OutputPadding::Absent),
            choices,
        )
    }

    /// A ConvTranspose that doubles extents.
    pub fn doubling(space: &Space, channels: (usize, usize), rank: usize, choices: &mut Choices) -> Self {
        let (kernel, pad, output_padding) = *choices.one_of(&[(2, 0, 0), (4, 1, 0), (3, 1, 1)]);
        let window = Window { kernel, stride: 2, dilation: 1, pads: (pad, pad), output_padding };
        let padding = if pad == 0 { Padding::Absent } else { Padding::Symmetric };
        let form = if output_padding == 0 { OutputPadding::Absent } else { OutputPadding::BelowStride };
        Self::uniform(space, Operator::ConvTranspose, channels, vec![window; rank], (padding, form), choices)
    }

    /// A layer of these channels, in and out, in groups that divide both.
    fn uniform(
        space: &Space,
        operator: Operator,
        (inputs, outputs): (usize, usize),
        axes: Vec<Window>,
        (padding, output_padding): (Padding, OutputPadding),
        choices: &mut Choices,
    ) -> Self {
        let groups = |grouping: Grouping| match grouping {
            Grouping::One => 1,
            Grouping::Several(group) => group,
            Grouping::Depthwise => inputs,
        };
        let divides = |group: usize| inputs.is_multiple_of(group) && outputs.is_multiple_of(group);
        let drawn = groups(space.grouping.draw_among(choices, |grouping| divides(groups(*grouping))));
        let group = if divides(drawn) { drawn } else { 1 };
        Self {
            operator,
            group,
            inputs_per_group: inputs / group,
            outputs_per_group: outputs / group,
            axes,
            padding,
            output_shape: None,
            output_padding,
            written: Written::draw(space, choices),
        }
    }

    pub const fn input_channels(&self) -> usize {
        self.group * self.inputs_per_group
    }

    pub const fn output_channels(&self) -> usize {
        self.group * self.outputs_per_group
    }

    /// The taps that an output element is a sum over, at most.
    pub fn taps(&self) -> usize {
        self.inputs_per_group * self.axes.iter().map(|axis| axis.kernel).product::<usize>()
    }

    /// The output channel that an element of the weight, counted in row-major order, contributes to.
    pub fn output_channel_of(&self, element: usize) -> usize {
        let kernel: usize = self.axes.iter().map(|axis| axis.kernel).product();
        match self.operator {
            Operator::Conv => element / (kernel * self.inputs_per_group),
            Operator::ConvTranspose => {
                let (input, output) =
                    (element / kernel / self.outputs_per_group, element / kernel % self.outputs_per_group);
                input / self.inputs_per_group * self.outputs_per_group + output
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
            Operator::ConvTranspose => channel % self.outputs_per_group,
        }
    }

    pub fn weight_shape(&self) -> Vec<usize> {
        let channels = match self.operator {
            Operator::Conv => [self.output_channels(), self.inputs_per_group],
            Operator::ConvTranspose => [self.input_channels(), self.outputs_per_group],
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
        let geometry = match op {
            Op::Conv(conv) => conv.geometry(input, &kernel),
            Op::ConvTranspose(deconv) => deconv.geometry(input, &kernel),
            _ => unreachable!("a layer is a convolution"),
        };
        geometry
            .expect("a layer is valid on the extents it was drawn for")
            .axes
            .iter()
            .map(|axis| axis.output)
            .collect()
    }

    /// The operator with its attributes.
    pub fn op(&self) -> Op {
        match self.operator {
            Operator::Conv => Op::Conv(Conv {
                auto_pad: self.padding.auto_pad(),
                dilations: self.per_axis(self.written.dilations, 1, |axis| axis.dilation),
                group: (self.group != 1 || self.written.group).then_some(self.group as i64),
                kernel_shape: self.written.kernel_shape.then(|| self.each(|axis| axis.kernel)),
                pads: self.pads(),
                strides: self.per_axis(self.written.strides, 1, |axis| axis.stride),
            }),
            Operator::ConvTranspose => Op::ConvTranspose(ConvTranspose {
                auto_pad: self.padding.auto_pad(),
                dilations: self.per_axis(self.written.dilations, 1, |axis| axis.dilation),
                group: (self.group != 1 || self.written.group).then_some(self.group as i64),
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

    fn pads(&self) -> Option<Vec<i64>> {
        self.padding.writes_pads().then(|| {
            let begin = self.axes.iter().map(|axis| axis.pads.0 as i64);
            begin.chain(self.axes.iter().map(|axis| axis.pads.1 as i64)).collect()
        })
    }

    fn per_axis(&self, written: bool, default: usize, of: impl Fn(&Window) -> usize) -> Option<Vec<i64>> {
        let needed = self.axes.iter().any(|axis| of(axis) != default);
        (needed || written).then(|| self.each(of))
    }

    fn each(&self, of: impl Fn(&Window) -> usize) -> Vec<i64> {
        self.axes.iter().map(|axis| of(axis) as i64).collect()
    }
}

impl Written {
    fn draw(space: &Space, choices: &mut Choices) -> Self {
        let mut default_written = || space.default_written.draw(choices);
        Self {
            strides: default_written(),
            dilations: default_written(),
            group: default_written(),
            kernel_shape: space.kernel_shape_written.draw(choices),
        }
    }
}

impl OutputPadding {
    const fn is_zero(self) -> bool {
        matches!(self, Self::Absent | Self::Zero)
    }
}

impl Padding {
    const fn auto_pad(self) -> Option<AutoPad> {
        match self {
            Self::NotSet | Self::NotSetAlone | Self::OutputShapeNotSet => Some(AutoPad::NotSet),
            Self::SameUpper | Self::OutputShapeUpper => Some(AutoPad::SameUpper),
            Self::SameLower | Self::OutputShapeLower => Some(AutoPad::SameLower),
            Self::Valid => Some(AutoPad::Valid),
            _ => None,
        }
    }

    const fn is_same(self) -> bool {
        matches!(self, Self::SameUpper | Self::SameLower)
    }

    /// Whether the padding follows from a chosen output extent.
    pub const fn has_output_shape(self) -> bool {
        matches!(
            self,
            Self::OutputShape
                | Self::OutputShapeNotSet
                | Self::OutputShapeUpper
                | Self::OutputShapeLower
                | Self::OutputShapeOverPads
        )
    }

    const fn writes_pads(self) -> bool {
        matches!(
            self,
            Self::Zero | Self::Symmetric | Self::Asymmetric | Self::NotSet | Self::OutputShapeOverPads
        )
    }
}

/// Groups, and input channels of each, for a layer that is free in both.
fn groups(space: &Space, caps: Caps, choices: &mut Choices) -> (usize, usize) {
    match space.grouping.draw(choices) {
        Grouping::One => (1, space.channels.draw_among(choices, |count| *count <= caps.channels)),
        Grouping::Several(group) => {
            (group, space.channels.draw_among(choices, |count| count * group <= caps.channels))
        }
        Grouping::Depthwise => (space.channels.draw_among(choices, |count| *count <= caps.channels), 1),
    }
}

/// Groups, and input channels of each, where the channels are given.
fn split(space: &Space, channels: usize, choices: &mut Choices) -> (usize, usize) {
    let group = match space.grouping.draw_among(choices, |grouping| grouping.divides(channels)) {
        Grouping::Several(group) if channels.is_multiple_of(group) => group,
        Grouping::Depthwise => channels,
        Grouping::Several(_) | Grouping::One => 1,
    };
    (group, channels / group)
}

impl Grouping {
    const fn divides(self, channels: usize) -> bool {
        match self {
            Self::One | Self::Depthwise => true,
            Self::Several(group) => channels.is_multiple_of(group),
        }
    }
}

fn window(
    space: &Space,
    operator: Operator,
    padding: Padding,
    output_padding: OutputPadding,
    marked: bool,
    caps: Caps,
    choices: &mut Choices,
) -> Window {
    // a dilated convolution with auto_pad SAME is refused by ONNX Runtime: seldom worth a case
    let undilated = operator == Operator::Conv && padding.is_same() && choices.percent(80);
    let beyond_stride = marked && output_padding == OutputPadding::BelowDilation;
    let kernel = space.kernel.draw_among(choices, |kernel| *kernel <= caps.kernel);
    let dilation = space.dilation.draw_among(choices, |dilation| {
        if undilated { *dilation == 1 } else { !beyond_stride || *dilation > 1 }
    });
    let mut window = Window { kernel, stride: 1, dilation, pads: (0, 0), output_padding: 0 };
    // the text is silent on what auto_pad SAME of a ConvTranspose gives where the kernel leaves gaps
    let without_gaps = operator == Operator::ConvTranspose && padding.is_same() && choices.percent(80);
    let within_stride = marked && output_padding == OutputPadding::BelowStride;
    window.stride = space.stride.draw_among(choices, |stride| {
        *stride <= caps.stride
            && (!without_gaps || *stride <= window.span())
            && (!within_stride || *stride > 1)
            && (!beyond_stride || *stride < dilation)
    });
    window.output_padding = match output_padding {
        OutputPadding::Absent | OutputPadding::Zero => 0,
        OutputPadding::BelowStride => {
            choices.within(usize::from(marked).min(window.stride - 1)..=window.stride - 1)
        }
        OutputPadding::BelowDilation => {
            let most = window.stride.max(dilation) - 1;
            choices.within(if beyond_stride { window.stride.min(most) } else { 0 }..=most)
        }
    };
    if padding.writes_pads() {
        window.pads = pads(padding, window.span(), choices);
    }
    window
}

/// Pads at both ends of an axis; mostly so that each window still meets the data.
fn pads(padding: Padding, span: usize, choices: &mut Choices) -> (usize, usize) {
    let most = if choices.percent(10) { span } else { span - 1 }.min(4);
    let begin = choices.within(0..=most);
    match padding {
        Padding::Zero => (0, 0),
        Padding::Symmetric => (begin, begin),
        _ => {
            let end = choices.within(0..=most);
            if begin == end && choices.percent(70) { (begin, (end + 1) % (most + 1)) } else { (begin, end) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output extent along `axis`, where there is one.
    fn output(layer: &Layer, axis: usize, input: usize) -> Option<usize> {
        let mut extents = vec![40; layer.axes.len()];
        extents[axis] = input;
        let kernel: Vec<_> = layer.axes.iter().map(|axis| axis.kernel).collect();
        let geometry = match layer.op() {
            Op::Conv(conv) => conv.geometry(&extents, &kernel),
            Op::ConvTranspose(deconv) => deconv.geometry(&extents, &kernel),
            _ => unreachable!("a layer is a convolution"),
        };
        geometry.ok().map(|geometry| geometry.axes[axis].output)
    }

    #[test]
    fn the_least_input_suffices_and_one_less_does_not() {
        let mut choices = Choices::of_index(9, 0);
        for space in [Space::convolutions(), Space::deconvolutions()] {
            for _ in 0..2000 {
                let rank = choices.within(1..=3);
                let layer = Layer::draw(&space, space.lead, None, rank, Caps::of(rank, 1), &mut choices);
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
