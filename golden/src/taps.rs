use twinfer_onnx::Axis;

/// The direction in which a kernel connects input and output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Windows over the input: Conv and `MaxPool`.
    Gather,
    /// Each input position spread over the output: `ConvTranspose`.
    Scatter,
}

/// What a window reads in place of a position outside of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Outside {
    /// Nothing, as in ONNX.
    #[default]
    Nothing,
    /// The position at the edge; only mutants do that.
    Edge,
    /// The position as far from the other edge; only mutants do that.
    Around,
    /// The position as far inside of the edge; only mutants do that.
    Mirrored,
}

impl Outside {
    /// The position that is read in place of `place` along an axis of this extent; `None` for nothing.
    fn read(self, place: isize, extent: usize) -> Option<usize> {
        let last = isize::try_from(extent).ok()?.checked_sub(1).filter(|last| *last >= 0)?;
        let inside = match self {
            Self::Edge => place.clamp(0, last),
            Self::Around => place.rem_euclid(last + 1),
            Self::Mirrored if place < 0 => place.saturating_neg().min(last),
            Self::Mirrored if place > last => (2 * last - place).max(0),
            Self::Nothing | Self::Mirrored => place,
        };
        usize::try_from(inside).ok().filter(|inside| *inside < extent)
    }

    /// The name in names of edits.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Nothing => "nothing-outside",
            Self::Edge => "edge-outside",
            Self::Around => "other-side-outside",
            Self::Mirrored => "mirror-outside",
        }
    }

    /// What sentences say is read.
    pub const fn clause(self) -> &'static str {
        match self {
            Self::Nothing => "nothing outside of the data",
            Self::Edge => "the nearest position outside of the data",
            Self::Around => "outside of the data from the other side on",
            Self::Mirrored => "the data mirrored outside of it",
        }
    }
}

/// The number that windows read where there is no data: in the padding and, of `ConvTranspose`, between strides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fill {
    One,
    MinusOne,
}

impl Fill {
    pub const ALL: &[Self] = &[Self::One, Self::MinusOne];

    pub const fn number(self) -> f64 {
        match self {
            Self::One => 1.0,
            Self::MinusOne => -1.0,
        }
    }

    /// The name in names of edits.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::One => "one-outside",
            Self::MinusOne => "minus-one-outside",
        }
    }

    /// What sentences say is read.
    pub const fn clause(self) -> &'static str {
        match self {
            Self::One => "1 where there is no data",
            Self::MinusOne => "-1 where there is no data",
        }
    }
}

/// What a tap of a `ConvTranspose` reads where its stride lies between two positions of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Between {
    /// Nothing, as in ONNX.
    #[default]
    Nothing,
    /// The position before; only mutants do that.
    Previous,
    /// The position behind; only mutants do that.
    Next,
}

impl Between {
    /// The position that is read in place of `place`, which is as many strides from the first one and `rest` more.
    const fn read(self, place: isize, rest: isize) -> Option<isize> {
        match self {
            _ if rest == 0 => Some(place),
            Self::Nothing => None,
            Self::Previous => Some(place),
            Self::Next => Some(place + 1),
        }
    }

    /// The name in names of edits.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Nothing => "nothing-between-strides",
            Self::Previous => "previous-between-strides",
            Self::Next => "next-between-strides",
        }
    }

    /// What sentences say is read.
    pub const fn clause(self) -> &'static str {
        match self {
            Self::Nothing => "nothing between two positions of the input that the stride separates",
            Self::Previous => "the previous position of the input once more where the stride leaves gaps",
            Self::Next => "the next position of the input already where the stride leaves gaps",
        }
    }
}

/// The reach of the kernel along one spatial axis, which some mutants change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    pub input: usize,
    pub output: usize,
    pub kernel: usize,
    pub stride: usize,
    pub dilation: usize,
    /// Padding (Gather) or cropping (Scatter) at the start.
    pub begin: isize,
    /// Padding or cropping at the end, which the extent of the output implies.
    pub end: isize,
    /// The number of output positions that `output_padding` appends before cropping.
    pub output_padding: usize,
    /// Whether the kernel is read backwards.
    pub reversed: bool,
    /// The number of output positions at the end that no tap reaches.
    pub untouched_end: usize,
    /// The number of output positions that `output_padding` appends beyond the reach of the last tap.
    pub strip: usize,
    /// What is read outside of the input.
    pub outside: Outside,
    /// What is read between strides.
    pub between: Between,
}

impl From<&Axis> for Reach {
    fn from(axis: &Axis) -> Self {
        Self {
            input: axis.input,
            output: axis.output,
            kernel: axis.kernel,
            stride: axis.stride,
            dilation: axis.dilation,
            begin: axis.pad_begin as isize,
            end: axis.pad_end,
            output_padding: axis.output_padding,
            reversed: false,
            untouched_end: 0,
            strip: axis.output_padding.saturating_add_signed(-axis.pad_end),
            outside: Outside::Nothing,
            between: Between::Nothing,
        }
    }
}

impl Reach {
    /// The input position that tap `kernel` connects with `output`; `None` if it is padding or between strides.
    fn input(&self, direction: Direction, output: usize, kernel: usize) -> Option<usize> {
        if output + self.untouched_end >= self.output {
            return None;
        }
        let signed = |number: usize| isize::try_from(number).ok();
        let place = match direction {
            Direction::Gather => signed(output * self.stride + kernel * self.dilation)? - self.begin,
            Direction::Scatter => {
                let from_first = signed(output)? + self.begin - signed(kernel * self.dilation)?;
                let stride = signed(self.stride)?;
                self.between.read(from_first.div_euclid(stride), from_first.rem_euclid(stride))?
            }
        };
        self.outside.read(place, self.input)
    }

    /// The offset of a tap in the weight.
    const fn weight(&self, kernel: usize) -> usize {
        if self.reversed { self.kernel - 1 - kernel } else { kernel }
    }
}

/// For each output position, the input positions that reach it and the kernel positions through which they do.
///
/// Positions are spatial and flattened in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taps {
    /// The index of the first pair of each output position, followed by the number of pairs.
    begins: Vec<usize>,
    /// Pairs of input position and kernel position.
    pairs: Vec<(usize, usize)>,
    /// Whether each output position is on the strip of an axis.
    on_strip: Vec<bool>,
    input_len: usize,
    kernel_len: usize,
}

impl Taps {
    /// The taps of all spatial axes together.
    pub fn of(axes: &[Reach], direction: Direction) -> Self {
        let origin = Self {
            begins: vec![0, 1],
            pairs: vec![(0, 0)],
            on_strip: vec![false],
            input_len: 1,
            kernel_len: 1,
        };
        axes.iter().fold(origin, |outer, axis| outer.product(&Self::along(axis, direction)))
    }

    fn along(axis: &Reach, direction: Direction) -> Self {
        let mut begins = Vec::with_capacity(axis.output + 1);
        begins.push(0);
        let mut pairs = Vec::with_capacity(axis.output * axis.kernel);
        for output in 0..axis.output {
            for kernel in 0..axis.kernel {
                let input = axis.input(direction, output, kernel);
                pairs.extend(input.map(|input| (input, axis.weight(kernel))));
            }
            begins.push(pairs.len());
        }
        let on_strip = (0..axis.output).map(|output| output + axis.strip >= axis.output).collect();
        Self { begins, pairs, on_strip, input_len: axis.input, kernel_len: axis.kernel }
    }

    /// The taps of the axes of `self` followed by those of `inner`.
    fn product(&self, inner: &Self) -> Self {
        let mut begins = Vec::with_capacity(self.len() * inner.len() + 1);
        begins.push(0);
        let mut pairs = Vec::with_capacity(self.pairs.len() * inner.pairs.len());
        let mut on_strip = Vec::with_capacity(self.len() * inner.len());
        for outer_output in 0..self.len() {
            for inner_output in 0..inner.len() {
                for (outer_input, outer_kernel) in self.at(outer_output) {
                    for (inner_input, inner_kernel) in inner.at(inner_output) {
                        pairs.push((
                            outer_input * inner.input_len + inner_input,
                            outer_kernel * inner.kernel_len + inner_kernel,
                        ));
                    }
                }
                begins.push(pairs.len());
                on_strip.push(self.on_strip[outer_output] || inner.on_strip[inner_output]);
            }
        }
        Self {
            begins,
            pairs,
            on_strip,
            input_len: self.input_len * inner.input_len,
            kernel_len: self.kernel_len * inner.kernel_len,
        }
    }

    /// The number of output positions.
    pub fn len(&self) -> usize {
        self.begins.len() - 1
    }

    /// The pairs of one output position.
    pub fn at(&self, output: usize) -> &[(usize, usize)] {
        &self.pairs[self.begins[output]..self.begins[output + 1]]
    }

    /// Whether one output position was appended by `output_padding`, behind the last tap of some axis.
    pub fn is_on_strip(&self, output: usize) -> bool {
        self.on_strip[output]
    }

    /// The number of input positions.
    pub const fn input_len(&self) -> usize {
        self.input_len
    }

    /// The number of kernel positions.
    pub const fn kernel_len(&self) -> usize {
        self.kernel_len
    }
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::{Conv, ConvTranspose};

    use super::*;

    fn reaches(axes: &[Axis]) -> Vec<Reach> {
        axes.iter().map(Reach::from).collect()
    }

    #[test]
    fn a_window_skips_the_padding() {
        let conv = Conv { pads: Some(vec![1, 0]), strides: Some(vec![2]), ..Conv::default() };
        let geometry = conv.geometry(&[3], &[2]).expect("valid");
        let taps = Taps::of(&reaches(&geometry.axes), Direction::Gather);
        assert_eq!(taps.at(0), [(0, 1)]);
        assert_eq!(taps.at(1), [(1, 0), (2, 1)]);
    }

    #[test]
    fn what_is_read_outside_lies_inside() {
        let read = |outside: Outside| [-2, -1, 0, 3, 4].map(|place| outside.read(place, 3));
        assert_eq!(read(Outside::Nothing), [None, None, Some(0), None, None]);
        assert_eq!(read(Outside::Edge), [0, 0, 0, 2, 2].map(Some));
        assert_eq!(read(Outside::Around), [1, 2, 0, 0, 1].map(Some));
        assert_eq!(read(Outside::Mirrored), [2, 1, 0, 1, 0].map(Some));
        assert_eq!(Outside::Edge.read(0, 0), None, "there is nothing to read");
    }

    #[test]
    fn what_is_read_between_strides_is_a_neighbor() {
        let read =
            |between: Between| [(1, 0), (1, 1), (-1, 2)].map(|(place, rest)| between.read(place, rest));
        assert_eq!(read(Between::Nothing), [Some(1), None, None]);
        assert_eq!(read(Between::Previous), [Some(1), Some(1), Some(-1)]);
        assert_eq!(read(Between::Next), [Some(1), Some(2), Some(0)]);
    }

    #[test]
    fn a_scattered_kernel_is_cropped_and_overlaps() {
        let op = ConvTranspose { pads: Some(vec![1, 0]), strides: Some(vec![2]), ..ConvTranspose::default() };
        let geometry = op.geometry(&[2], &[3]).expect("valid");
        let taps = Taps::of(&reaches(&geometry.axes), Direction::Scatter);
        assert_eq!(
            (0..taps.len()).map(|o| taps.at(o).to_vec()).collect::<Vec<_>>(),
            [vec![(0, 1)], vec![(1, 0), (0, 2)], vec![(1, 1)], vec![(1, 2)],]
        );
    }

    #[test]
    fn axes_multiply_in_row_major_order() {
        let geometry = Conv::default().geometry(&[2, 3], &[2, 2]).expect("valid");
        let taps = Taps::of(&reaches(&geometry.axes), Direction::Gather);
        assert_eq!(taps.at(1), [(1, 0), (2, 1), (4, 2), (5, 3)]);
    }
}
