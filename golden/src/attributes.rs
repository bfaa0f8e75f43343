//! Operators whose attributes a mutant misreads.

use twinfer_onnx::{AutoPad, Op, WindowMut};

/// The attributes of a convolution of floats or integers.
const fn window(op: &mut Op) -> Option<WindowMut<'_>> {
    match op {
        Op::ConvInteger(op) | Op::QLinearConv(op) => Some(op.window_mut()),
        op => op.window_mut(),
    }
}

/// Exchanges `SAME_UPPER` and `SAME_LOWER` of a convolution.
pub fn swap_same(op: &mut Op) {
    if let Some(window) = window(op) {
        *window.auto_pad = match *window.auto_pad {
            Some(AutoPad::SameUpper) => Some(AutoPad::SameLower),
            Some(AutoPad::SameLower) => Some(AutoPad::SameUpper),
            other => other,
        };
    }
}

/// Reads `SAME_UPPER` of a convolution as `SAME_LOWER`.
pub fn same_upper_as_lower(op: &mut Op) {
    replace_auto_pad(op, AutoPad::SameUpper, AutoPad::SameLower);
}

/// Reads `SAME_LOWER` of a convolution as `SAME_UPPER`.
pub fn same_lower_as_upper(op: &mut Op) {
    replace_auto_pad(op, AutoPad::SameLower, AutoPad::SameUpper);
}

fn replace_auto_pad(op: &mut Op, stated: AutoPad, read: AutoPad) {
    if let Some(auto_pad) = window(op).map(|window| window.auto_pad)
        && *auto_pad == Some(stated)
    {
        *auto_pad = Some(read);
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
    let auto_pad = match op {
        Op::MaxPool(op) => Some(&mut op.auto_pad),
        op => window(op).map(|window| window.auto_pad),
    };
    if let Some(auto_pad) = auto_pad.and_then(Option::as_mut)
        && auto_pad.is_same()
    {
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
