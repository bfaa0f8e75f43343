use twinfer_case::Case;
use twinfer_onnx::{AutoPad, BatchNormalization, Op};

use super::candidates::Candidates;
use crate::fit::Baseline;

/// An attribute of numbers, with the value that means nothing special.
type Numbers<'a> = (&'a mut Option<Vec<i64>>, i64);

/// Each attribute that is not its default left out, then each of its entries at the default.
pub fn to_default<'a>(case: &'a Case, _: &'a Baseline) -> Candidates<'a> {
    let automatic =
        each_node(case, |op| op.window_mut().is_some_and(|window| window.auto_pad.take().is_some()));
    let whole = each_attribute(case, |(entries, _)| entries.iter().map(|_| None).collect());
    let single = each_attribute(case, |(entries, default)| {
        changed(entries.as_ref(), |entry| (entry != default).then_some(default))
    });
    Box::new(automatic.chain(whole).chain(single))
}

/// Each entry of each attribute halfway to its default, then one step nearer.
pub fn toward_default<'a>(case: &'a Case, _: &'a Baseline) -> Candidates<'a> {
    let halves = each_attribute(case, |(entries, default)| {
        changed(entries.as_ref(), |entry| {
            (entry.abs_diff(default) > 2).then(|| i64::midpoint(entry, default))
        })
    });
    let steps = each_attribute(case, |(entries, default)| {
        changed(entries.as_ref(), |entry| {
            (entry.abs_diff(default) > 1).then(|| if entry > default { entry - 1 } else { entry + 1 })
        })
    });
    Box::new(halves.chain(steps))
}

/// Attributes that have their default left out, and `kernel_shape` written.
pub fn canonical<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    let idle = each_attribute(case, |(entries, default)| {
        entries.iter().filter(|entries| entries.iter().all(|entry| *entry == default)).map(|_| None).collect()
    });
    let not_set = each_node(case, |op| {
        op.window_mut().is_some_and(|window| window.auto_pad.take() == Some(AutoPad::NotSet))
    });
    let other = each_node(case, |op| match op {
        Op::BatchNormalization(attributes) => {
            let plain = BatchNormalization::default();
            std::mem::replace(attributes, plain.clone()) != plain
        }
        op => op.window_mut().is_some_and(|window| window.group.take() == Some(1)),
    });
    let kernel_shapes =
        (0..case.graph.nodes.len()).filter_map(move |place| with_kernel_shape(case, baseline, place));
    Box::new(idle.chain(not_set).chain(other).chain(kernel_shapes))
}

fn with_kernel_shape(case: &Case, baseline: &Baseline, place: usize) -> Option<Case> {
    let mut case = case.clone();
    let node = &mut case.graph.nodes[place];
    let weight = baseline.extents(node.inputs.get(1)?)?.first()?;
    let window = node.op.window_mut()?;
    let written = weight.get(2..)?.iter().map(|extent| *extent as i64).collect();
    window.kernel_shape.replace(written).is_none().then_some(case)
}

/// The case with the operator of one node changed, for each node that `change` changes.
fn each_node(case: &Case, change: fn(&mut Op) -> bool) -> impl Iterator<Item = Case> + '_ {
    (0..case.graph.nodes.len()).filter_map(move |place| {
        let mut op = case.graph.nodes[place].op.clone();
        change(&mut op).then(|| with_op(case, place, op))
    })
}

/// The case with one attribute of one node replaced, by each of what `replacements` gives for it.
fn each_attribute(
    case: &Case,
    replacements: fn(Numbers) -> Vec<Option<Vec<i64>>>,
) -> impl Iterator<Item = Case> + '_ {
    let replaced = move |place: usize| {
        let op = case.graph.nodes[place].op.clone();
        let attributes = 0..numbers(&mut op.clone()).len();
        attributes.flat_map(move |attribute| {
            let with = |replacement| {
                let mut op = op.clone();
                *numbers(&mut op).swap_remove(attribute).0 = replacement;
                op
            };
            let found = replacements(numbers(&mut op.clone()).swap_remove(attribute));
            found.into_iter().map(with).collect::<Vec<_>>()
        })
    };
    (0..case.graph.nodes.len()).flat_map(move |place| replaced(place).map(move |op| with_op(case, place, op)))
}

fn with_op(case: &Case, place: usize, op: Op) -> Case {
    let mut case = case.clone();
    case.graph.nodes[place].op = op;
    case
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
    let Some(window) = op.window_mut() else { return vec![] };
    let numbers = [
        window.output_shape.map(|entries| (entries, 1)),
        window.output_padding.map(|entries| (entries, 0)),
        Some((window.pads, 0)),
        Some((window.dilations, 1)),
        Some((window.strides, 1)),
    ];
    numbers.into_iter().flatten().collect()
}
