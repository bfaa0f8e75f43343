use twinfer_case::Case;
use twinfer_onnx::{AutoPad, BatchNormalization, Conv, ConvTranspose, Op};

use crate::fit::Frame;

/// An attribute of numbers, with the value that means nothing special.
type Numbers<'a> = (&'a mut Option<Vec<i64>>, i64);

/// Each attribute that is not its default left out, then each of its entries at the default.
pub fn to_default(case: &Case, _: &Frame) -> Vec<Case> {
    let mut candidates = each_node(case, |op| match op {
        Op::Conv(Conv { auto_pad, .. }) | Op::ConvTranspose(ConvTranspose { auto_pad, .. }) => {
            auto_pad.take().is_some()
        }
        _ => false,
    });
    candidates.extend(each_attribute(case, |(entries, _)| entries.iter().map(|_| None).collect()));
    candidates.extend(each_attribute(case, |(entries, default)| {
        changed(entries.as_ref(), |entry| if entry == default { None } else { Some(default) })
    }));
    candidates
}

/// Each entry of each attribute halfway to its default, then one step nearer.
pub fn towards_default(case: &Case, _: &Frame) -> Vec<Case> {
    let halves = each_attribute(case, |(entries, default)| {
        changed(entries.as_ref(), |entry| {
            (entry.abs_diff(default) > 2).then(|| i64::midpoint(entry, default))
        })
    });
    let steps = each_attribute(case, |(entries, default)| {
        changed(entries.as_ref(), |entry| {
            (entry.abs_diff(default) > 1).then(|| entry - (entry - default).signum())
        })
    });
    halves.into_iter().chain(steps).collect()
}

/// Attributes that have their default left out, and `kernel_shape` written.
pub fn canonical(case: &Case, frame: &Frame) -> Vec<Case> {
    let mut candidates = each_attribute(case, |(entries, default)| {
        entries.iter().filter(|entries| entries.iter().all(|entry| *entry == default)).map(|_| None).collect()
    });
    candidates.extend(each_node(case, |op| match op {
        Op::Conv(Conv { auto_pad, .. }) | Op::ConvTranspose(ConvTranspose { auto_pad, .. }) => {
            auto_pad.take() == Some(AutoPad::NotSet)
        }
        _ => false,
    }));
    candidates.extend(each_node(case, |op| match op {
        Op::Conv(Conv { group, .. }) | Op::ConvTranspose(ConvTranspose { group, .. }) => {
            group.take() == Some(1)
        }
        Op::BatchNormalization(attributes) => {
            let plain = BatchNormalization::default();
            std::mem::replace(attributes, plain.clone()) != plain
        }
        _ => false,
    }));
    candidates.extend((0..case.graph.nodes.len()).filter_map(|place| with_kernel_shape(case, frame, place)));
    candidates
}

fn with_kernel_shape(case: &Case, frame: &Frame, place: usize) -> Option<Case> {
    let mut case = case.clone();
    let node = &mut case.graph.nodes[place];
    let weight = frame.extents(node.inputs.get(1)?)?.first()?;
    let (Op::Conv(Conv { kernel_shape, .. }) | Op::ConvTranspose(ConvTranspose { kernel_shape, .. })) =
        &mut node.op
    else {
        return None;
    };
    let written = weight.get(2..)?.iter().map(|extent| *extent as i64).collect();
    kernel_shape.replace(written).is_none().then_some(case)
}

/// The case with the operator of one node changed, for each node that `change` changes.
fn each_node(case: &Case, change: impl Fn(&mut Op) -> bool) -> Vec<Case> {
    let mut candidates = Vec::new();
    for place in 0..case.graph.nodes.len() {
        let mut op = case.graph.nodes[place].op.clone();
        if change(&mut op) {
            let mut case = case.clone();
            case.graph.nodes[place].op = op;
            candidates.push(case);
        }
    }
    candidates
}

/// The case with one attribute of one node replaced, by each of what `replacements` gives for it.
fn each_attribute(case: &Case, replacements: impl Fn(Numbers) -> Vec<Option<Vec<i64>>>) -> Vec<Case> {
    let mut candidates = Vec::new();
    for place in 0..case.graph.nodes.len() {
        let mut op = case.graph.nodes[place].op.clone();
        let count = numbers(&mut op).len();
        for attribute in 0..count {
            let (entries, default) = numbers(&mut op).swap_remove(attribute);
            for replacement in replacements((entries, default)) {
                let mut case = case.clone();
                *numbers(&mut case.graph.nodes[place].op).swap_remove(attribute).0 = replacement;
                candidates.push(case);
            }
        }
    }
    candidates
}

/// The attribute with one entry changed, for each entry that `change` has something for.
fn changed(entries: Option<&Vec<i64>>, change: impl Fn(i64) -> Option<i64>) -> Vec<Option<Vec<i64>>> {
    let Some(entries) = entries else {
        return vec![];
    };
    let with = |place: usize| {
        let mut entries = entries.clone();
        entries[place] = change(entries[place])?;
        Some(Some(entries))
    };
    (0..entries.len()).filter_map(with).collect()
}

/// The attributes of a convolution that have an entry an axis, but for `kernel_shape`.
fn numbers(op: &mut Op) -> Vec<Numbers<'_>> {
    match op {
        Op::Conv(Conv { dilations, pads, strides, .. }) => vec![(pads, 0), (dilations, 1), (strides, 1)],
        Op::ConvTranspose(ConvTranspose {
            dilations, output_padding, output_shape, pads, strides, ..
        }) => {
            vec![(output_shape, 1), (output_padding, 0), (pads, 0), (dilations, 1), (strides, 1)]
        }
        _ => vec![],
    }
}
