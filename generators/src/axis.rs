use crate::{Choices, Operator, OutputPadding, Padding, Space, caps::Caps};

/// The attributes along one spatial axis.
#[derive(Clone, Copy, Debug)]
pub struct LayerAxis {
    pub kernel: usize,
    pub stride: usize,
    pub dilation: usize,
    pub pads: (usize, usize),
    pub output_padding: usize,
}

/// What the windows of a layer have in common.
#[derive(Clone, Copy)]
pub struct LayerKind {
    pub operator: Operator,
    pub padding: Padding,
    pub output_padding: OutputPadding,
}

impl LayerAxis {
    /// One axis of a layer; on a `marked` one, what the layer's kind says is sure to be seen.
    pub fn draw(space: &Space, kind: LayerKind, marked: bool, caps: Caps, choices: &mut Choices) -> Self {
        let LayerKind { operator, padding, output_padding } = kind;
        // a dilated convolution with auto_pad SAME is refused by ONNX Runtime: seldom worth a case
        let undilated = operator == Operator::Conv && padding.is_same() && choices.percent(80);
        let beyond_stride = marked && output_padding == OutputPadding::BelowDilation;
        let kernel = space.kernel.draw_among(choices, |kernel| *kernel <= caps.kernel);
        let dilation = space.dilation.draw_among(choices, |dilation| {
            if undilated { *dilation == 1 } else { !beyond_stride || *dilation > 1 }
        });
        let mut window = Self { kernel, stride: 1, dilation, pads: (0, 0), output_padding: 0 };
        // the text does not define auto_pad SAME of a ConvTranspose whose kernel leaves gaps
        let without_gaps = operator == Operator::ConvTranspose && padding.is_same() && choices.percent(80);
        let within_stride = marked && output_padding == OutputPadding::BelowStride;
        window.stride = space.stride.draw_among(choices, |stride| {
            *stride <= caps.stride
                && (!without_gaps || *stride <= window.span())
                && (!within_stride || *stride > 1)
                && (!beyond_stride || *stride < dilation)
        });
        window.output_padding = window.drawn_output_padding(output_padding, marked, choices);
        if padding.writes_pads() {
            window.pads = pads(padding, window.span(), choices);
        }
        window
    }

    fn drawn_output_padding(&self, form: OutputPadding, marked: bool, choices: &mut Choices) -> usize {
        match form {
            OutputPadding::Absent | OutputPadding::Zero => 0,
            OutputPadding::BelowStride => {
                choices.within(usize::from(marked).min(self.stride - 1)..=self.stride - 1)
            }
            OutputPadding::BelowDilation => {
                let most = self.stride.max(self.dilation) - 1;
                choices.within(if marked { self.stride.min(most) } else { 0 }..=most)
            }
        }
    }

    /// Extent of the kernel with its dilation.
    pub const fn span(&self) -> usize {
        (self.kernel - 1) * self.dilation + 1
    }
}

/// Draws the pads at both ends of an axis, mostly so that each window still overlaps the data.
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
