//! Operators whose attributes a mutant misreads.

use twinfer_onnx::{AutoPad, Op, WindowMut};

/// The attributes of a convolution of floats or integers.
const fn window(op: &mut Op) -> Option<WindowMut<'_>> {
    match op {
        Op::ConvInteger(op) | Op::QLinearConv(op) => Some(op.window_mut()),
        op => op.window_mut(),
    }
}

/// How the windows of an operator are padded.
const fn auto_pad(op: &mut Op) -> Option<&mut AutoPad> {
    let auto_pad = match op {
        Op::AveragePool(op) => Some(&mut op.auto_pad),
        Op::MaxPool(op) => Some(&mut op.auto_pad),
        op => match window(op) {
            Some(window) => Some(window.auto_pad),
            None => None,
        },
    };
    match auto_pad {
        Some(auto_pad) => auto_pad.as_mut(),
        None => None,
    }
}

/// Exchanges `SAME_UPPER` and `SAME_LOWER`.
pub const fn swap_same(op: &mut Op) {
    if let Some(auto_pad) = auto_pad(op) {
        *auto_pad = match *auto_pad {
            AutoPad::SameUpper => AutoPad::SameLower,
            AutoPad::SameLower => AutoPad::SameUpper,
            other => other,
        };
    }
}

/// Reads `SAME_UPPER` as `SAME_LOWER`.
pub const fn same_upper_as_lower(op: &mut Op) {
    if let Some(auto_pad @ AutoPad::SameUpper) = auto_pad(op) {
        *auto_pad = AutoPad::SameLower;
    }
}

/// Reads `SAME_LOWER` as `SAME_UPPER`.
pub const fn same_lower_as_upper(op: &mut Op) {
    if let Some(auto_pad @ AutoPad::SameLower) = auto_pad(op) {
        *auto_pad = AutoPad::SameUpper;
    }
}

/// Exchanges the `pads` of a convolution; no effect if `output_shape` overrides them.
pub fn swap_pads(op: &mut Op) {
    if let Some(pads) = window(op).and_then(|window| window.pads.as_mut()) {
        let axes = pads.len() / 2;
        pads.rotate_left(axes);
    }
}

/// Reads SAME as VALID, except beside `output_shape`: there `auto_pad` only splits the padding that follows.
pub fn same_as_valid(op: &mut Op) {
    if matches!(op, Op::ConvTranspose(op) if op.output_shape.is_some()) {
        return;
    }
    if let Some(auto_pad) = auto_pad(op).filter(|auto_pad| auto_pad.is_same()) {
        *auto_pad = AutoPad::Valid;
    }
}

/// Crops the odd position of an `output_shape` at the end, as `SAME_UPPER` does; `output_shape` overrides the pads that
/// exclude it.
pub fn split_output_shape_at_end(op: &mut Op) {
    if let Op::ConvTranspose(op) = op
        && op.output_shape.is_some()
        && op.auto_pad != Some(AutoPad::SameLower)
    {
        op.pads = None;
        op.auto_pad = Some(AutoPad::SameUpper);
    }
}

/// Reads `output_padding` as zero.
pub fn drop_output_padding(op: &mut Op) {
    if let Op::ConvTranspose(op) = op {
        op.output_padding = None;
    }
}

/// Ignores `output_shape`.
pub fn ignore_output_shape(op: &mut Op) {
    if let Op::ConvTranspose(op) = op {
        op.output_shape = None;
    }
}

/// Pads the end of each axis as the start.
pub fn pad_both_ends_alike(op: &mut Op) {
    let pads = match op {
        Op::MaxPool(op) => op.pads.as_mut(),
        op => window(op).and_then(|window| window.pads.as_mut()),
    };
    if let Some(pads) = pads {
        let axes = pads.len() / 2;
        pads.copy_within(..axes, axes);
    }
}
