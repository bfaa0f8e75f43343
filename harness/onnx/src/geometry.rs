//! Windows that slide along spatial axes: the one place where the attributes of Conv, ConvTranspose and `MaxPool`, with
//! their defaults, become numbers.

use crate::{
    AutoPad, AveragePool, Conv, ConvTranspose, MaxPool, Window,
    rule::{Broken, Rule, require},
};

/// How a kernel meets the data: Conv, ConvTranspose and pooling with every default filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// One entry a spatial axis, outermost first.
    pub axes: Vec<Axis>,
    /// Channel groups; 1 for pooling.
    pub group: usize,
}

/// One spatial axis of a [`Geometry`], in elements.
///
/// Tap `k` of the kernel connects input position `i` and output position `o` where, for Conv and `MaxPool`,
/// `i = o * stride + k * dilation - pad_begin`, and for `ConvTranspose` `o = i * stride + k * dilation - pad_begin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Extent of the input.
    pub input: usize,
    /// Extent of the output.
    pub output: usize,
    /// Extent of the kernel, undilated.
    pub kernel: usize,
    /// Distance of neighboring windows.
    pub stride: usize,
    /// Distance of neighboring taps.
    pub dilation: usize,
    /// Padding before the first position; for `ConvTranspose`, positions cropped there.
    pub pad_begin: usize,
    /// Padding after the last position; for `ConvTranspose`, positions cropped there. Negative where an
    /// `output_shape` asks for more positions than there are: as many are appended.
    pub pad_end: isize,
    /// Positions that `ConvTranspose` appends before it crops; 0 for the others.
    pub output_padding: usize,
}

impl Axis {
    /// Extent of the kernel with its dilation: `(kernel - 1) * dilation + 1`.
    pub const fn dilated_kernel(&self) -> usize {
        (self.kernel - 1) * self.dilation + 1
    }

    /// Extent of a `ConvTranspose` output before it is cropped.
    pub const fn natural_output(&self) -> usize {
        // an empty input has no window to stride over, but the formula of the text still counts one stride back
        (self.stride * self.input + self.output_padding + self.dilated_kernel()).saturating_sub(self.stride)
    }
}

/// The largest value of an attribute or extent; products of two of them fit 64 bits.
const LARGEST: i64 = 1 << 30;

impl Conv {
    /// The geometry for a spatial input and kernel, both undilated and outermost first: [`Window::geometry`].
    pub fn geometry(&self, input: &[usize], kernel: &[usize]) -> Result<Geometry, Broken> {
        self.window().geometry(input, kernel)
    }
}

impl ConvTranspose {
    /// The geometry for a spatial input and kernel, both undilated and outermost first: [`Window::geometry`].
    pub fn geometry(&self, input: &[usize], kernel: &[usize]) -> Result<Geometry, Broken> {
        self.window().geometry(input, kernel)
    }

    /// As [`geometry`](Self::geometry), and `output_padding` may exceed what [`Rule::OutputPadding`] allows, as it does for who reads
    /// `strides` or `dilations` as smaller ones.
    pub fn misread_geometry(&self, input: &[usize], kernel: &[usize]) -> Result<Geometry, Broken> {
        self.window().located(input, kernel, Reading::Misread)
    }
}

/// Whether attributes are those that are stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// They are, and all rules hold.
    Stated,
    /// Some are read as others, with which `output_padding` may be too large.
    Misread,
}

impl MaxPool {
    /// The geometry for a spatial input, outermost extent first, or the first rule that the attributes break.
    pub fn geometry(&self, input: &[usize]) -> Result<Geometry, Broken> {
        let kernel = entries("kernel_shape", Some(&self.kernel_shape), input.len(), 1)?;
        positive("kernel_shape", &kernel, Rule::KernelPositive)?;
        let kernel = kernel.iter().map(|extent| *extent as usize).collect::<Vec<_>>();
        excludes_pads(self.auto_pad, self.pads.as_deref())?;
        flag("storage_order", self.storage_order)?;
        let rounding = if flag("ceil_mode", self.ceil_mode)? { Rounding::Ceil } else { Rounding::Floor };
        let axes = windows(input, &kernel, self.strides.as_deref(), self.dilations.as_deref())?;
        let axes = pad(axes, self.auto_pad, self.pads.as_deref(), rounding)?;
        Ok(Geometry { axes, group: 1 })
    }
}

impl AveragePool {
    /// The geometry for a spatial input, outermost extent first, or the first rule that the attributes break.
    pub fn geometry(&self, input: &[usize]) -> Result<Geometry, Broken> {
        flag("count_include_pad", self.count_include_pad)?;
        // what MaxPool has beside these attributes does not concern shapes
        let windows = MaxPool {
            auto_pad: self.auto_pad,
            ceil_mode: self.ceil_mode,
            dilations: self.dilations.clone(),
            kernel_shape: self.kernel_shape.clone(),
            pads: self.pads.clone(),
            storage_order: None,
            strides: self.strides.clone(),
        };
        windows.geometry(input)
    }
}

impl Window<'_> {
    /// The geometry for a spatial input and kernel, both undilated and outermost first, or the first rule that the
    /// attributes break.
    ///
    /// `output_shape` takes precedence over `pads`. With `auto_pad` SAME, the output of `ConvTranspose` has extent
    /// `input * stride`, but never more than the natural extent: that is what ONNX Runtime does where the text and
    /// ONNX's own shape inference differ.
    pub fn geometry(&self, input: &[usize], kernel: &[usize]) -> Result<Geometry, Broken> {
        self.located(input, kernel, Reading::Stated)
    }

    fn located(&self, input: &[usize], kernel: &[usize], reading: Reading) -> Result<Geometry, Broken> {
        agrees_with_weight(self.kernel_shape, kernel)?;
        excludes_pads(self.auto_pad, self.pads)?;
        let axes = windows(input, kernel, self.strides, self.dilations)?;
        let axes = if self.transposed {
            self.crop(axes, reading)?
        } else {
            pad(axes, self.auto_pad, self.pads, Rounding::Floor)?
        };
        Ok(Geometry { axes, group: group(self.group)? })
    }

    /// Crops the axes of `ConvTranspose`, which gives their output extents.
    fn crop(&self, mut axes: Vec<Axis>, reading: Reading) -> Result<Vec<Axis>, Broken> {
        let rank = axes.len();
        let output_padding = entries("output_padding", self.output_padding, rank, 0)?;
        let pads = self.pads.map(|pads| pad_pairs(pads, rank)).transpose()?;
        let output_shape = self.output_shape.map(|extents| positive_extents(extents, rank)).transpose()?;
        for (place, axis) in axes.iter_mut().enumerate() {
            axis.output_padding = below_stride_or_dilation(output_padding[place], axis, reading)?;
            let wanted = match &output_shape {
                Some(extents) => Some(extents[place] as usize),
                None if self.auto_pad().is_same() => {
                    Some((axis.input * axis.stride).min(axis.natural_output()))
                }
                None => None,
            };
            match wanted {
                Some(output) => crop_to(axis, output, self.auto_pad),
                None => crop_by(axis, pads.as_ref().map_or((0, 0), |pads| pads[place]))?,
            }
            has_output(place, axis)?;
        }
        Ok(axes)
    }
}

fn positive_extents(output_shape: &[i64], rank: usize) -> Result<Vec<i64>, Broken> {
    let extents = entries("output_shape", Some(output_shape), rank, 1)?;
    positive("output_shape", &extents, Rule::OutputShapePositive)?;
    Ok(extents)
}

fn has_output(place: usize, axis: &Axis) -> Result<(), Broken> {
    require(axis.output >= 1, Rule::OutputExtent, || format!("spatial axis {place} has no output position"))
}

/// Crops to `output` positions. An odd rest goes to the end for `SAME_UPPER` and to the start otherwise; what is
/// missing is appended.
fn crop_to(axis: &mut Axis, output: usize, auto_pad: Option<AutoPad>) {
    let total = axis.natural_output().saturating_sub(output);
    axis.output = output;
    axis.pad_begin = if auto_pad == Some(AutoPad::SameUpper) { total / 2 } else { total - total / 2 };
    axis.pad_end = axis.natural_output() as isize - output as isize - axis.pad_begin as isize;
}

fn crop_by(axis: &mut Axis, (begin, end): (usize, usize)) -> Result<(), Broken> {
    let natural = axis.natural_output();
    require(natural > begin + end, Rule::OutputExtent, || {
        format!("pads {begin} and {end} leave nothing of {natural} output positions")
    })?;
    axis.output = natural - begin - end;
    axis.pad_begin = begin;
    axis.pad_end = end as isize;
    Ok(())
}

fn below_stride_or_dilation(output_padding: i64, axis: &Axis, reading: Reading) -> Result<usize, Broken> {
    let limit = match reading {
        Reading::Stated => axis.stride.max(axis.dilation),
        Reading::Misread => LARGEST as usize,
    };
    require((0..limit as i64).contains(&output_padding), Rule::OutputPadding, || {
        format!("output_padding {output_padding} with stride {} and dilation {}", axis.stride, axis.dilation)
    })?;
    Ok(output_padding as usize)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Floor,
    Ceil,
}

/// Axes whose kernel, stride and dilation are known and whose padding and output are not.
fn windows(
    input: &[usize],
    kernel: &[usize],
    strides: Option<&[i64]>,
    dilations: Option<&[i64]>,
) -> Result<Vec<Axis>, Broken> {
    let rank = input.len();
    let strides = entries("strides", strides, rank, 1)?;
    positive("strides", &strides, Rule::StridesPositive)?;
    let dilations = entries("dilations", dilations, rank, 1)?;
    positive("dilations", &dilations, Rule::DilationsPositive)?;
    let axes = (0..rank).map(|place| Axis {
        input: input[place],
        output: 0,
        kernel: kernel[place],
        stride: strides[place] as usize,
        dilation: dilations[place] as usize,
        pad_begin: 0,
        pad_end: 0,
        output_padding: 0,
    });
    let axes: Vec<_> = axes.collect();
    for axis in &axes {
        require(axis.kernel >= 1, Rule::KernelPositive, || "the kernel is empty".to_owned())?;
        let largest = axis.input.max(axis.kernel);
        require(largest <= LARGEST as usize, Rule::SizeLimit, || format!("an extent of {largest}"))?;
    }
    Ok(axes)
}

/// Pads the axes of Conv or of a pooling, which gives their output extents.
fn pad(
    mut axes: Vec<Axis>,
    auto_pad: Option<AutoPad>,
    pads: Option<&[i64]>,
    rounding: Rounding,
) -> Result<Vec<Axis>, Broken> {
    let pads = pads.map(|pads| pad_pairs(pads, axes.len())).transpose()?;
    for (place, axis) in axes.iter_mut().enumerate() {
        if auto_pad.is_some_and(AutoPad::is_same) {
            pad_same(axis, auto_pad);
        } else {
            let (begin, end) = pads.as_ref().map_or((0, 0), |pads| pads[place]);
            axis.pad_begin = begin;
            axis.pad_end = end as isize;
            axis.output = fitting_windows(axis, rounding)?;
        }
        has_output(place, axis)?;
    }
    Ok(axes)
}

/// Pads so that the output is `ceil(input / stride)`; an odd rest goes to the end for `SAME_UPPER`.
fn pad_same(axis: &mut Axis, auto_pad: Option<AutoPad>) {
    axis.output = axis.input.div_ceil(axis.stride);
    let covered = axis.output.saturating_sub(1) * axis.stride + axis.dilated_kernel();
    let total = covered.saturating_sub(axis.input);
    axis.pad_begin = if auto_pad == Some(AutoPad::SameUpper) { total / 2 } else { total - total / 2 };
    axis.pad_end = (total - axis.pad_begin) as isize;
}

/// How many windows fit in the padded input: `(padded - dilated kernel) / stride + 1`. Rounding up counts one that
/// ends beyond it, unless that one would start in the padding at the end.
fn fitting_windows(axis: &Axis, rounding: Rounding) -> Result<usize, Broken> {
    let padded = axis.input + axis.pad_begin + axis.pad_end.unsigned_abs();
    let room = padded as i64 - axis.dilated_kernel() as i64;
    let stride = axis.stride as i64;
    let whole = room.div_euclid(stride) + 1;
    let starts_inside = whole * stride < (axis.input + axis.pad_begin) as i64;
    let one_more = rounding == Rounding::Ceil && room.rem_euclid(stride) != 0 && starts_inside;
    usize::try_from(whole + i64::from(one_more)).map_err(|_| Broken {
        rule: Rule::OutputExtent,
        detail: format!("a kernel of {} in a padded input of {padded}", axis.dilated_kernel()),
    })
}

fn agrees_with_weight(kernel_shape: Option<&[i64]>, weight: &[usize]) -> Result<(), Broken> {
    let Some(kernel_shape) = kernel_shape else {
        return Ok(());
    };
    entries("kernel_shape", Some(kernel_shape), weight.len(), 1)?;
    positive("kernel_shape", kernel_shape, Rule::KernelPositive)?;
    let equal = kernel_shape.iter().zip(weight).all(|(stated, found)| *stated == *found as i64);
    require(equal, Rule::KernelShape, || {
        format!("kernel_shape is {kernel_shape:?}, the weight's is {weight:?}")
    })
}

fn excludes_pads(auto_pad: Option<AutoPad>, pads: Option<&[i64]>) -> Result<(), Broken> {
    let automatic = auto_pad.is_some_and(|auto_pad| auto_pad != AutoPad::NotSet);
    require(!(automatic && pads.is_some()), Rule::PadsExcludeAutoPad, || {
        "both pads and auto_pad are given".to_owned()
    })
}

fn group(group: Option<i64>) -> Result<usize, Broken> {
    let group = group.unwrap_or(1);
    require((1..=LARGEST).contains(&group), Rule::GroupPositive, || format!("group is {group}"))?;
    Ok(group as usize)
}

fn flag(name: &str, value: Option<i64>) -> Result<bool, Broken> {
    let value = value.unwrap_or(0);
    require(matches!(value, 0 | 1), Rule::Flag, || format!("{name} is {value}"))?;
    Ok(value == 1)
}

/// The entries of a per-axis attribute, or `default` for each axis where it is absent.
fn entries(name: &str, given: Option<&[i64]>, rank: usize, default: i64) -> Result<Vec<i64>, Broken> {
    let entries = given.map_or_else(|| vec![default; rank], <[_]>::to_vec);
    require(entries.len() == rank, Rule::AttributeLength, || {
        format!("{name} has {} entries for {rank} spatial axes", entries.len())
    })?;
    require(entries.iter().all(|entry| *entry <= LARGEST), Rule::SizeLimit, || {
        format!("{name} is {entries:?}")
    })?;
    Ok(entries)
}

fn positive(name: &str, entries: &[i64], rule: Rule) -> Result<(), Broken> {
    require(entries.iter().all(|entry| *entry >= 1), rule, || format!("{name} is {entries:?}"))
}

/// `pads` as one (begin, end) an axis.
fn pad_pairs(pads: &[i64], rank: usize) -> Result<Vec<(usize, usize)>, Broken> {
    require(pads.len() == 2 * rank, Rule::AttributeLength, || {
        format!("pads has {} entries for {rank} spatial axes", pads.len())
    })?;
    require(pads.iter().all(|pad| *pad >= 0), Rule::PadsNonNegative, || format!("pads is {pads:?}"))?;
    require(pads.iter().all(|pad| *pad <= LARGEST), Rule::SizeLimit, || format!("pads is {pads:?}"))?;
    let (begin, end) = pads.split_at(rank);
    Ok(begin.iter().zip(end).map(|(begin, end)| (*begin as usize, *end as usize)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deconv_output(input: usize, kernel: usize, op: &ConvTranspose) -> (usize, usize, isize) {
        let axis = op.geometry(&[input], &[kernel]).expect("valid").axes[0];
        (axis.output, axis.pad_begin, axis.pad_end)
    }

    fn same(auto_pad: AutoPad, stride: i64) -> ConvTranspose {
        ConvTranspose { auto_pad: Some(auto_pad), strides: Some(vec![stride]), ..ConvTranspose::default() }
    }

    #[test]
    fn same_upper_pads_odd_rest_at_end_and_same_lower_at_start() {
        assert_eq!(deconv_output(3, 3, &same(AutoPad::SameUpper, 2)), (6, 0, 1));
        assert_eq!(deconv_output(3, 3, &same(AutoPad::SameLower, 2)), (6, 1, 0));
        let conv = |auto_pad| Conv { auto_pad: Some(auto_pad), ..Conv::default() };
        let pads = |auto_pad| {
            let axis = conv(auto_pad).geometry(&[5], &[2]).expect("valid").axes[0];
            (axis.output, axis.pad_begin, axis.pad_end)
        };
        assert_eq!(pads(AutoPad::SameUpper), (5, 0, 1));
        assert_eq!(pads(AutoPad::SameLower), (5, 1, 0));
    }

    #[test]
    fn same_of_a_transposed_convolution_stops_at_its_natural_extent() {
        assert_eq!(deconv_output(6, 3, &same(AutoPad::SameUpper, 4)).0, 23);
    }

    #[test]
    fn output_shape_overrides_pads_and_crops_odd_rest_at_start() {
        let op = ConvTranspose {
            output_shape: Some(vec![6]),
            pads: Some(vec![0, 1]),
            strides: Some(vec![2]),
            ..ConvTranspose::default()
        };
        assert_eq!(deconv_output(3, 3, &op), (6, 1, 0));
        let beyond = ConvTranspose { output_shape: Some(vec![9]), ..op };
        assert_eq!(deconv_output(3, 3, &beyond), (9, 0, -2));
    }

    #[test]
    fn a_window_that_would_start_in_the_end_padding_is_not_counted() {
        let pool = MaxPool {
            ceil_mode: Some(1),
            kernel_shape: vec![1],
            strides: Some(vec![2]),
            pads: None,
            ..MaxPool::default()
        };
        assert_eq!(pool.geometry(&[2]).expect("valid").axes[0].output, 1);
        assert_eq!(pool.geometry(&[4]).expect("valid").axes[0].output, 2);
        let wider = MaxPool { kernel_shape: vec![3], ..pool };
        assert_eq!(wider.geometry(&[4]).expect("valid").axes[0].output, 2);
        assert_eq!(wider.geometry(&[2]).expect("valid").axes[0].output, 1);
    }

    #[test]
    fn extreme_attributes_break_a_rule_instead_of_overflowing() {
        for entry in [i64::MAX, i64::MIN, -1, LARGEST + 1] {
            let op = ConvTranspose {
                dilations: Some(vec![entry]),
                strides: Some(vec![entry]),
                pads: Some(vec![entry, entry]),
                ..ConvTranspose::default()
            };
            assert!(op.geometry(&[3], &[3]).is_err());
        }
    }
}
