//! Attributes read as something else: what some mutants make of an operator.

use twinfer_onnx::{AutoPad, Op};

const fn auto_pad(op: &mut Op) -> Option<&mut Option<AutoPad>> {
    match op {
        Op::Conv(op) | Op::ConvInteger(op) | Op::QLinearConv(op) => Some(&mut op.auto_pad),
        Op::ConvTranspose(op) => Some(&mut op.auto_pad),
        Op::MaxPool(op) => Some(&mut op.auto_pad),
        _ => None,
    }
}

const fn pads(op: &mut Op) -> Option<&mut Option<Vec<i64>>> {
    match op {
        Op::Conv(op) | Op::ConvInteger(op) | Op::QLinearConv(op) => Some(&mut op.pads),
        Op::ConvTranspose(op) => Some(&mut op.pads),
        Op::MaxPool(op) => Some(&mut op.pads),
        _ => None,
    }
}

/// Exchanges `SAME_UPPER` and `SAME_LOWER` of a convolution.
pub fn swap_same(op: &mut Op) {
    if matches!(op, Op::MaxPool(_)) {
        return;
    }
    if let Some(auto_pad) = auto_pad(op) {
        *auto_pad = match *auto_pad {
            Some(AutoPad::SameUpper) => Some(AutoPad::SameLower),
            Some(AutoPad::SameLower) => Some(AutoPad::SameUpper),
            other => other,
        };
    }
}

/// Exchanges the `pads` of a convolution; those that `output_shape` overrides stay without effect.
pub fn swap_pads(op: &mut Op) {
    if matches!(op, Op::MaxPool(_)) {
        return;
    }
    if let Some(Some(pads)) = pads(op) {
        let axes = pads.len() / 2;
        pads.rotate_left(axes);
    }
}

/// Where `output_shape` is given, `auto_pad` pads nothing: it says how the padding that follows is split.
pub fn same_as_valid(op: &mut Op) {
    if matches!(op, Op::ConvTranspose(op) if op.output_shape.is_some()) {
        return;
    }
    if let Some(auto_pad) = auto_pad(op)
        && matches!(auto_pad, Some(AutoPad::SameUpper | AutoPad::SameLower))
    {
        *auto_pad = Some(AutoPad::Valid);
    }
}

/// `SAME_UPPER` is what splits an odd rest to the end; `output_shape` overrides the pads that exclude it.
pub fn split_output_shape_at_end(op: &mut Op) {
    if let Op::ConvTranspose(op) = op
        && op.output_shape.is_some()
        && op.auto_pad != Some(AutoPad::SameLower)
    {
        op.pads = None;
        op.auto_pad = Some(AutoPad::SameUpper);
    }
}

pub fn drop_output_padding(op: &mut Op) {
    if let Op::ConvTranspose(op) = op {
        op.output_padding = None;
    }
}

pub fn ignore_output_shape(op: &mut Op) {
    if let Op::ConvTranspose(op) = op {
        op.output_shape = None;
    }
}

pub fn pad_both_ends_alike(op: &mut Op) {
    if let Some(Some(pads)) = pads(op) {
        let axes = pads.len() / 2;
        pads.copy_within(..axes, axes);
    }
}
