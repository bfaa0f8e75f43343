use twinfer_onnx::{AutoPad, MaxPool, Op, Transpose};

use super::operator::Operator;

/// An attribute that is read otherwise, as a whole. The output gets the shape that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttributeEdit {
    /// The pads are taken as zero.
    PadsIgnored,
    /// The pads of the start are taken for those of the end, and the other way round.
    PadsSwapped,
    /// The pads are read as a pair of start and end for each axis.
    PadsInPairs,
    PadsOfFirstAxis,
    PadsOfLastAxis,
    /// The axes are in reverse order.
    PadsReversed,
    /// The pads of both ends of an axis are divided evenly between them, and an odd one goes to the end.
    PadsEven,
    /// As [`PadsEven`](Self::PadsEven), and an odd one goes to the start.
    PadsEvenAtStart,
    /// What `auto_pad` or `output_shape` puts at one end because it is odd goes to the other.
    OddAtOtherEnd,
    OutputShapeReversed,
    /// `output_padding` is added to `output_shape`.
    OutputShapePadded,
    CeilModeIgnored,
    CeilModeSet,
    CountIncludePadIgnored,
    CountIncludePadSet,
    AlphaDefault,
    PermIgnored,
    PermDefault,
    /// Each entry says where an axis goes instead of where it comes from.
    PermInverted,
    PermReversed,
    /// The last two entries are exchanged.
    PermLastExchanged,
    AsIdentity,
    AsMaxPool,
    AsRelu,
    AsSigmoid,
}

impl AttributeEdit {
    const PADS: &[Self] = &[
        Self::PadsIgnored,
        Self::PadsInPairs,
        Self::PadsOfFirstAxis,
        Self::PadsOfLastAxis,
        Self::PadsReversed,
        Self::PadsEven,
        Self::PadsEvenAtStart,
    ];

    /// What may be read otherwise in an operator.
    pub fn all_of(operator: Operator) -> Vec<Self> {
        let of_operator: &[Self] = match operator {
            Operator::MaxPool => &[Self::PadsSwapped, Self::CeilModeIgnored, Self::CeilModeSet],
            Operator::ConvTranspose => {
                &[Self::OddAtOtherEnd, Self::OutputShapeReversed, Self::OutputShapePadded]
            }
            Operator::AveragePool => &[
                Self::PadsSwapped,
                Self::CeilModeIgnored,
                Self::CeilModeSet,
                Self::CountIncludePadIgnored,
                Self::CountIncludePadSet,
                Self::AsMaxPool,
            ],
            operator if operator.is_convolution() => &[],
            operator => return Self::without_pads(operator).to_vec(),
        };
        Self::PADS.iter().chain(of_operator).copied().collect()
    }

    /// What may be read otherwise in an operator without windows.
    const fn without_pads(operator: Operator) -> &'static [Self] {
        match operator {
            Operator::HardSwish => &[Self::AsIdentity, Self::AsRelu, Self::AsSigmoid],
            Operator::LeakyRelu => &[Self::AlphaDefault, Self::AsIdentity, Self::AsRelu],
            Operator::Sigmoid => &[Self::AsIdentity, Self::AsRelu],
            Operator::Transpose => &[
                Self::PermIgnored,
                Self::PermDefault,
                Self::PermInverted,
                Self::PermReversed,
                Self::PermLastExchanged,
            ],
            _ => &[],
        }
    }

    /// Changes the attributes of a node, or what it computes.
    pub fn apply(self, op: &mut Op) {
        match self {
            Self::CeilModeIgnored | Self::CeilModeSet => {
                let ceil_mode = Some(i64::from(self == Self::CeilModeSet));
                match op {
                    Op::AveragePool(op) => op.ceil_mode = ceil_mode,
                    Op::MaxPool(op) => op.ceil_mode = ceil_mode,
                    _ => {}
                }
            }
            Self::CountIncludePadIgnored | Self::CountIncludePadSet => {
                if let Op::AveragePool(op) = op {
                    op.count_include_pad = Some(i64::from(self == Self::CountIncludePadSet));
                }
            }
            Self::AlphaDefault => {
                if let Op::LeakyRelu(op) = op {
                    op.alpha = None;
                }
            }
            Self::PermIgnored | Self::AsIdentity => *op = Op::Identity,
            Self::AsMaxPool => compute_maximum(op),
            Self::AsRelu => *op = Op::Relu,
            Self::AsSigmoid => *op = Op::Sigmoid,
            Self::PermDefault | Self::PermInverted | Self::PermReversed | Self::PermLastExchanged => {
                if let Op::Transpose(op) = op {
                    self.apply_to_permutation(op);
                }
            }
            Self::OddAtOtherEnd => crop_odd_at_other_end(op),
            Self::OutputShapeReversed | Self::OutputShapePadded => self.apply_to_output_shape(op),
            _ => {
                if let Some(pads) = pads(op) {
                    *pads = self.changed(pads);
                }
            }
        }
    }

    fn apply_to_permutation(self, op: &mut Transpose) {
        let Some(perm) = &mut op.perm else { return };
        let last = perm.len().saturating_sub(1);
        match self {
            Self::PermDefault => op.perm = None,
            Self::PermInverted => {
                let place =
                    |axis: i64| perm.iter().position(|entry| *entry == axis).map(|place| place as i64);
                if let Some(inverse) = (0..perm.len() as i64).map(place).collect() {
                    *perm = inverse;
                }
            }
            Self::PermReversed => perm.reverse(),
            Self::PermLastExchanged if last > 0 => perm.swap(last - 1, last),
            _ => {}
        }
    }

    fn apply_to_output_shape(self, op: &mut Op) {
        let Op::ConvTranspose(op) = op else { return };
        let Some(extents) = &mut op.output_shape else { return };
        match (self, &op.output_padding) {
            (Self::OutputShapeReversed, _) => extents.reverse(),
            (_, Some(padding)) => {
                // some exporters write batch and channels too
                let spatial = extents.iter_mut().rev().zip(padding.iter().rev());
                spatial.for_each(|(extent, padding)| *extent = extent.saturating_add(*padding));
            }
            (_, None) => {}
        }
    }

    /// The pads in place of these: those of the start of every axis, then those of the end.
    fn changed(self, pads: &[i64]) -> Vec<i64> {
        let axes = pads.len() / 2;
        let (begins, ends) = pads.split_at(axes);
        let of_axis = |axis: usize| [vec![begins[axis]; axes], vec![ends[axis]; axes]].concat();
        let even = |rest_at_start: bool| {
            let totals = begins.iter().zip(ends).map(|(begin, end)| begin.saturating_add(*end));
            let begin = |total: i64| if rest_at_start { total - total / 2 } else { total / 2 };
            let (begins, ends): (Vec<_>, Vec<_>) =
                totals.map(|total| (begin(total), total - begin(total))).unzip();
            [begins, ends].concat()
        };
        match self {
            _ if axes == 0 || pads.len() % 2 == 1 => pads.to_vec(),
            Self::PadsIgnored => vec![0; pads.len()],
            Self::PadsSwapped => [ends, begins].concat(),
            Self::PadsInPairs => {
                pads.iter().step_by(2).chain(pads.iter().skip(1).step_by(2)).copied().collect()
            }
            Self::PadsOfFirstAxis => of_axis(0),
            Self::PadsOfLastAxis => of_axis(axes - 1),
            Self::PadsReversed => begins.iter().rev().chain(ends.iter().rev()).copied().collect(),
            Self::PadsEven => even(false),
            Self::PadsEvenAtStart => even(true),
            _ => pads.to_vec(),
        }
    }

    /// The name in names of edits.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::PadsIgnored => "pads-ignored",
            Self::PadsSwapped => "pads-start-and-end-swapped",
            Self::PadsInPairs => "pads-in-pairs",
            Self::PadsOfFirstAxis => "pads-of-first-axis",
            Self::PadsOfLastAxis => "pads-of-last-axis",
            Self::PadsReversed => "pads-reversed",
            Self::PadsEven => "pads-even",
            Self::PadsEvenAtStart => "pads-even-at-start",
            Self::OddAtOtherEnd => "odd-position-at-other-end",
            Self::OutputShapeReversed => "output-shape-reversed",
            Self::OutputShapePadded => "output-shape-and-padding",
            Self::CeilModeIgnored => "ceil-mode-ignored",
            Self::CeilModeSet => "ceil-mode-set",
            Self::CountIncludePadIgnored => "count-include-pad-ignored",
            Self::CountIncludePadSet => "count-include-pad-set",
            Self::AlphaDefault => "alpha-default",
            Self::PermIgnored => "perm-ignored",
            Self::PermDefault => "perm-default",
            Self::PermInverted => "perm-inverted",
            Self::PermReversed => "perm-reversed",
            Self::PermLastExchanged => "perm-last-exchanged",
            Self::AsIdentity => "computed-as-identity",
            Self::AsMaxPool => "computed-as-maxpool",
            Self::AsRelu => "computed-as-relu",
            Self::AsSigmoid => "computed-as-sigmoid",
        }
    }

    /// What sentences say of it, behind the operator.
    pub const fn clause(self) -> &'static str {
        match self {
            Self::PadsIgnored => "takes `pads` as 0",
            Self::PadsSwapped => "exchanges the `pads` at the start and those at the end",
            Self::PadsInPairs => "reads `pads` as a start and an end for one axis after the other",
            Self::PadsOfFirstAxis => "takes the `pads` of the first spatial axis for every axis",
            Self::PadsOfLastAxis => "takes the `pads` of the last spatial axis for every axis",
            Self::PadsReversed => "takes `pads` in reverse order of the axes",
            Self::PadsEven => {
                "divides the `pads` of each axis evenly between start and end, an odd one at the end"
            }
            Self::PadsEvenAtStart => {
                "divides the `pads` of each axis evenly between start and end, an odd one at the start"
            }
            Self::OddAtOtherEnd => {
                "puts the odd position that `auto_pad` or `output_shape` crops at the other end"
            }
            Self::OutputShapeReversed => "reads `output_shape` in reverse order",
            Self::OutputShapePadded => "adds `output_padding` to `output_shape`",
            Self::CeilModeIgnored => "ignores `ceil_mode`",
            Self::CeilModeSet => "takes `ceil_mode` as 1",
            Self::CountIncludePadIgnored => "ignores `count_include_pad`",
            Self::CountIncludePadSet => "takes `count_include_pad` as 1",
            Self::AlphaDefault => "takes `alpha` as its default, 0.01",
            Self::PermIgnored => "ignores `perm` and keeps the axes in their order",
            Self::PermDefault => "ignores `perm` and reverses the axes",
            Self::PermInverted => "reads in `perm` where each axis goes instead of where it comes from",
            Self::PermReversed => "reads `perm` in reverse order",
            Self::PermLastExchanged => "exchanges the last two axes of `perm`",
            Self::AsIdentity => "gives its input as it is",
            Self::AsMaxPool => "gives the largest element of each window",
            Self::AsRelu => "computes Relu",
            Self::AsSigmoid => "computes Sigmoid",
        }
    }
}

/// The pads that are stated, unless something overrides them.
fn pads(op: &mut Op) -> Option<&mut Vec<i64>> {
    match op {
        Op::AveragePool(op) => op.pads.as_mut(),
        Op::MaxPool(op) => op.pads.as_mut(),
        Op::ConvTranspose(op) if op.output_shape.is_some() => None,
        Op::ConvInteger(op) | Op::QLinearConv(op) => op.window_mut().pads.as_mut(),
        op => op.window_mut()?.pads.as_mut(),
    }
}

/// Makes a `MaxPool` of an average.
fn compute_maximum(op: &mut Op) {
    if let Op::AveragePool(average) = op {
        *op = Op::MaxPool(MaxPool {
            auto_pad: average.auto_pad,
            ceil_mode: average.ceil_mode,
            dilations: average.dilations.take(),
            kernel_shape: std::mem::take(&mut average.kernel_shape),
            pads: average.pads.take(),
            storage_order: None,
            strides: average.strides.take(),
        });
    }
}

fn crop_odd_at_other_end(op: &mut Op) {
    let Op::ConvTranspose(op) = op else { return };
    op.auto_pad = match op.auto_pad {
        Some(AutoPad::SameUpper) => Some(AutoPad::SameLower),
        Some(AutoPad::SameLower) => Some(AutoPad::SameUpper),
        _ if op.output_shape.is_some() => {
            op.pads = None;
            Some(AutoPad::SameUpper)
        }
        other => other,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pads_are_those_of_the_start_and_then_those_of_the_end() {
        let changed = |edit: AttributeEdit| edit.changed(&[1, 2, 4, 3]);
        assert_eq!(changed(AttributeEdit::PadsSwapped), [4, 3, 1, 2]);
        assert_eq!(changed(AttributeEdit::PadsInPairs), [1, 4, 2, 3]);
        assert_eq!(changed(AttributeEdit::PadsOfLastAxis), [2, 2, 3, 3]);
        assert_eq!(changed(AttributeEdit::PadsReversed), [2, 1, 3, 4]);
        assert_eq!(changed(AttributeEdit::PadsEven), [2, 2, 3, 3]);
        assert_eq!(changed(AttributeEdit::PadsEvenAtStart), [3, 3, 2, 2]);
        assert!(AttributeEdit::PadsSwapped.changed(&[]).is_empty());
    }
}
