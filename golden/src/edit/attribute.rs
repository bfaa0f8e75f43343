use twinfer_onnx::{AutoPad, Op};

use super::operator::Operator;

/// An attribute that is read otherwise, as a whole. The output gets the shape that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
            operator if operator.is_convolution() => &[],
            _ => return Vec::new(),
        };
        Self::PADS.iter().chain(of_operator).copied().collect()
    }

    /// Changes the attributes of a node.
    pub fn apply(self, op: &mut Op) {
        match self {
            Self::CeilModeIgnored | Self::CeilModeSet => {
                if let Op::MaxPool(op) = op {
                    op.ceil_mode = Some(i64::from(self == Self::CeilModeSet));
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
        }
    }
}

/// The pads that are stated, unless something overrides them.
fn pads(op: &mut Op) -> Option<&mut Vec<i64>> {
    match op {
        Op::MaxPool(op) => op.pads.as_mut(),
        Op::ConvTranspose(op) if op.output_shape.is_some() => None,
        Op::ConvInteger(op) | Op::QLinearConv(op) => op.window_mut().pads.as_mut(),
        op => op.window_mut()?.pads.as_mut(),
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
