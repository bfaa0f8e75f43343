use crate::{AutoPad, Conv, ConvTranspose, Op};

/// The attributes of a [`Conv`] or [`ConvTranspose`] node under one type.
///
/// Fields are the ONNX attributes of the same name as the node writes them, `None` if absent; methods resolve ONNX's
/// defaults. Per-axis attributes have one entry per spatial axis, outermost first, in elements. Entries are read from
/// the model as they are: they may be negative or too few. [`geometry`](Self::geometry) checks them against shapes.
///
/// ```
/// use twinfer_onnx::{AutoPad, ConvTranspose};
///
/// let op = ConvTranspose { strides: Some(vec![2, 3]), pads: Some(vec![0, 1, 2, 3]), ..ConvTranspose::default() };
/// let window = op.window();
/// assert_eq!((window.stride(1), window.dilation(1), window.group()), (3, 1, 1));
/// assert_eq!(window.pads(1), (1, 3));
/// assert_eq!((window.auto_pad, window.auto_pad()), (None, AutoPad::NotSet));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window<'a> {
    /// Whether the operator is `ConvTranspose`.
    pub transposed: bool,
    /// How the padding is chosen; default `NOTSET`.
    pub auto_pad: Option<AutoPad>,
    /// Distances between neighboring taps of the kernel; default 1.
    pub dilations: Option<&'a [i64]>,
    /// Number of channel groups; default 1.
    pub group: Option<i64>,
    /// Extents of the kernel; default the spatial extents of the weight.
    pub kernel_shape: Option<&'a [i64]>,
    /// Positions that `ConvTranspose` appends after the output, before it crops; default 0. `None` for `Conv`.
    pub output_padding: Option<&'a [i64]>,
    /// Spatial extents of the output of `ConvTranspose`, from which its padding follows; no default. `None` for `Conv`.
    pub output_shape: Option<&'a [i64]>,
    /// Padding before the start of each axis, then after the end of each axis: two entries per axis; default 0.
    pub pads: Option<&'a [i64]>,
    /// Distances between neighboring windows; default 1.
    pub strides: Option<&'a [i64]>,
}

/// The channel counts of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Number of groups, at least 1.
    pub group: usize,
    /// Input channels of one group.
    pub inputs: usize,
    /// Output channels of one group.
    pub outputs: usize,
}

impl Channels {
    /// Input channels of all groups.
    pub const fn all_inputs(self) -> usize {
        self.group * self.inputs
    }

    /// Output channels of all groups.
    pub const fn all_outputs(self) -> usize {
        self.group * self.outputs
    }
}

impl Window<'_> {
    /// How the padding is chosen.
    pub fn auto_pad(&self) -> AutoPad {
        self.auto_pad.unwrap_or(AutoPad::NotSet)
    }

    /// Number of channel groups; below 1 only if the graph is invalid.
    pub fn group(&self) -> i64 {
        self.group.unwrap_or(1)
    }

    /// Distance between neighboring windows along a spatial axis.
    pub fn stride(&self, axis: usize) -> i64 {
        entry(self.strides, axis, 1)
    }

    /// Distance between neighboring taps of the kernel along a spatial axis.
    pub fn dilation(&self, axis: usize) -> i64 {
        entry(self.dilations, axis, 1)
    }

    /// The attribute `pads` at the start and at the end of a spatial axis, whatever `auto_pad` and `output_shape` are.
    pub fn pads(&self, axis: usize) -> (i64, i64) {
        let rank = self.pads.map_or(0, |pads| pads.len() / 2);
        if axis < rank { (entry(self.pads, axis, 0), entry(self.pads, rank + axis, 0)) } else { (0, 0) }
    }

    /// Positions that `ConvTranspose` appends after a spatial axis of its output.
    pub fn output_padding(&self, axis: usize) -> i64 {
        entry(self.output_padding, axis, 0)
    }

    /// Whether some stride is above 1.
    pub fn is_strided(&self) -> bool {
        is_above(self.strides, 1)
    }

    /// Whether some dilation is above 1.
    pub fn is_dilated(&self) -> bool {
        is_above(self.dilations, 1)
    }

    /// Whether some entry of `pads` is above 0.
    pub fn is_padded(&self) -> bool {
        is_above(self.pads, 0)
    }

    /// Whether some `output_padding` is above 0.
    pub fn has_output_padding(&self) -> bool {
        is_above(self.output_padding, 0)
    }

    /// The axis of the weight that holds output channels: 0 for `Conv` with its weight `[M, C/group, k…]`, 1 for
    /// `ConvTranspose` with its weight `[C, M/group, k…]`.
    pub const fn output_channel_axis(&self) -> usize {
        self.transposed as usize
    }

    /// The channels of each group with a weight of this shape, rounded down; `None` if the shape has fewer than two
    /// axes or `group` is below 1.
    pub fn channels(&self, weight: &[usize]) -> Option<Channels> {
        let &[first, second, ..] = weight else { return None };
        let group = usize::try_from(self.group()).ok()?;
        let per_group = first.checked_div(group)?;
        let (inputs, outputs) = if self.transposed { (per_group, second) } else { (second, per_group) };
        Some(Channels { group, inputs, outputs })
    }

    /// The output channels of all groups with a weight of this shape; `None` if the shape has fewer than two axes or
    /// `group` is negative.
    pub fn output_channels(&self, weight: &[usize]) -> Option<usize> {
        let extent = *weight.get(self.output_channel_axis())?;
        if self.transposed { extent.checked_mul(usize::try_from(self.group()).ok()?) } else { Some(extent) }
    }
}

fn entry(entries: Option<&[i64]>, place: usize, default: i64) -> i64 {
    entries.and_then(|entries| entries.get(place)).copied().unwrap_or(default)
}

fn is_above(entries: Option<&[i64]>, limit: i64) -> bool {
    entries.is_some_and(|entries| entries.iter().any(|entry| *entry > limit))
}

/// The attributes of a [`Conv`] or [`ConvTranspose`] node for editing: [`Window`] with each attribute mutable.
#[derive(Debug)]
#[expect(missing_docs, reason = "each field is the ONNX attribute of the same name, documented at Window")]
pub struct WindowMut<'a> {
    pub auto_pad: &'a mut Option<AutoPad>,
    pub dilations: &'a mut Option<Vec<i64>>,
    pub group: &'a mut Option<i64>,
    pub kernel_shape: &'a mut Option<Vec<i64>>,
    /// `None` for `Conv`, which has no such attribute.
    pub output_padding: Option<&'a mut Option<Vec<i64>>>,
    /// `None` for `Conv`, which has no such attribute.
    pub output_shape: Option<&'a mut Option<Vec<i64>>>,
    pub pads: &'a mut Option<Vec<i64>>,
    pub strides: &'a mut Option<Vec<i64>>,
}

impl Conv {
    /// The attributes in the form that [`ConvTranspose`] shares.
    pub fn window(&self) -> Window<'_> {
        Window {
            transposed: false,
            auto_pad: self.auto_pad,
            dilations: self.dilations.as_deref(),
            group: self.group,
            kernel_shape: self.kernel_shape.as_deref(),
            output_padding: None,
            output_shape: None,
            pads: self.pads.as_deref(),
            strides: self.strides.as_deref(),
        }
    }

    /// The attributes for editing, in the form that [`ConvTranspose`] shares.
    pub const fn window_mut(&mut self) -> WindowMut<'_> {
        let Self { auto_pad, dilations, group, kernel_shape, pads, strides } = self;
        let (output_padding, output_shape) = (None, None);
        WindowMut { auto_pad, dilations, group, kernel_shape, output_padding, output_shape, pads, strides }
    }
}

impl ConvTranspose {
    /// The attributes in the form that [`Conv`] shares.
    pub fn window(&self) -> Window<'_> {
        Window {
            transposed: true,
            auto_pad: self.auto_pad,
            dilations: self.dilations.as_deref(),
            group: self.group,
            kernel_shape: self.kernel_shape.as_deref(),
            output_padding: self.output_padding.as_deref(),
            output_shape: self.output_shape.as_deref(),
            pads: self.pads.as_deref(),
            strides: self.strides.as_deref(),
        }
    }

    /// The attributes for editing, in the form that [`Conv`] shares.
    pub const fn window_mut(&mut self) -> WindowMut<'_> {
        let Self { auto_pad, dilations, group, kernel_shape, output_padding, output_shape, pads, strides } =
            self;
        let (output_padding, output_shape) = (Some(output_padding), Some(output_shape));
        WindowMut { auto_pad, dilations, group, kernel_shape, output_padding, output_shape, pads, strides }
    }
}

impl Op {
    /// Whether the operator is `Conv` or `ConvTranspose`: inputs X, W and an optional B.
    pub const fn is_convolution(&self) -> bool {
        matches!(self, Self::Conv(_) | Self::ConvTranspose(_))
    }

    /// The attributes of `Conv` or `ConvTranspose`; `None` for every other operator.
    ///
    /// `ConvInteger` and `QLinearConv` are left out because their inputs differ: use [`Conv::window`] for them.
    pub fn window(&self) -> Option<Window<'_>> {
        match self {
            Self::Conv(op) => Some(op.window()),
            Self::ConvTranspose(op) => Some(op.window()),
            _ => None,
        }
    }

    /// The attributes of `Conv` or `ConvTranspose` for editing; `None` for every other operator.
    pub const fn window_mut(&mut self) -> Option<WindowMut<'_>> {
        match self {
            Self::Conv(op) => Some(op.window_mut()),
            Self::ConvTranspose(op) => Some(op.window_mut()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_attributes_have_the_defaults_of_onnx() {
        for op in [Op::Conv(Conv::default()), Op::ConvTranspose(ConvTranspose::default())] {
            let window = op.window().expect("a convolution");
            assert_eq!((window.auto_pad(), window.group()), (AutoPad::NotSet, 1));
            assert_eq!((window.stride(0), window.dilation(0)), (1, 1));
            assert_eq!((window.pads(0), window.output_padding(0)), ((0, 0), 0));
            assert!(!window.is_strided() && !window.is_dilated());
            assert!(!window.is_padded() && !window.has_output_padding());
        }
    }

    #[test]
    fn channels_are_counted_per_group_of_the_weight() {
        let conv = Conv { group: Some(2), ..Conv::default() };
        assert_eq!(conv.window().channels(&[6, 4, 3]), Some(Channels { group: 2, inputs: 4, outputs: 3 }));
        assert_eq!(conv.window().output_channels(&[6, 4, 3]), Some(6));
        let deconv = ConvTranspose { group: Some(2), ..ConvTranspose::default() };
        assert_eq!(deconv.window().channels(&[6, 4, 3]), Some(Channels { group: 2, inputs: 3, outputs: 4 }));
        assert_eq!(deconv.window().output_channels(&[6, 4, 3]), Some(8));
    }

    #[test]
    fn attributes_of_an_invalid_node_do_not_panic() {
        for group in [0, -1, i64::MAX, i64::MIN] {
            let op = ConvTranspose {
                group: Some(group),
                pads: Some(vec![-1, 2, 3]),
                strides: Some(vec![]),
                ..ConvTranspose::default()
            };
            let window = op.window();
            assert_eq!((window.pads(0), window.pads(1), window.stride(0)), ((-1, 2), (0, 0), 1));
            assert!(group > 0 || window.channels(&[4, 4, 1]).is_none());
            assert!(group >= 0 || window.output_channels(&[4, 4, 1]).is_none());
            assert_eq!(window.channels(&[4]), None);
        }
    }

    #[test]
    fn integer_convolutions_have_no_window_of_their_own() {
        assert_eq!(Op::ConvInteger(Conv::default()).window(), None);
        assert!(Op::QLinearConv(Conv::default()).window_mut().is_none());
    }
}
