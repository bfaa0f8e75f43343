use twinfer_case::Case;
use twinfer_onnx::{Conv, ConvTranspose, Node, Op};

use crate::{
    edit::{Edited, select, select_input, selected, smaller},
    fit::Frame,
};

/// The case without one of its spatial axes, of which only the first position is kept.
pub fn drop_axis(case: &Case, frame: &Frame) -> Vec<Case> {
    let rank = case.runs[0].inputs.first().map_or(0, |source| source.shape().len());
    let spatial = 0..rank.saturating_sub(2);
    if spatial.len() < 2 {
        return vec![];
    }
    spatial.rev().filter_map(|axis| without_axis(case, frame, axis, rank)).collect()
}

fn without_axis(case: &Case, frame: &Frame, spatial: usize, rank: usize) -> Option<Case> {
    let mut case = case.clone();
    let axis = spatial + 2;
    for run in &mut case.runs {
        for source in &mut run.inputs {
            let mut tensor = selected(&*source.tensor().ok()?, axis, &[0])?;
            tensor.shape.remove(axis);
            *source = twinfer_case::TensorSource::Data(tensor);
        }
    }
    for value in case.graph.inputs.iter_mut().chain(&mut case.graph.outputs) {
        if let Some(dims) = &mut value.shape {
            (dims.len() == rank).then(|| dims.remove(axis))?;
        }
    }
    for initializer in &mut case.graph.initializers {
        // parameters of one axis are a channel's; the others have the data's axes, or those from the right
        let extents = frame.extents(&initializer.name)?.first()?.len();
        if let Some(own) = axis.checked_sub(rank.checked_sub(extents)?).filter(|_| extents > 1) {
            initializer.tensor = selected(&initializer.tensor, own, &[0])?;
            initializer.tensor.shape.remove(own);
        }
    }
    for node in &mut case.graph.nodes {
        for (entries, sides) in per_axis(&mut node.op) {
            if let Some(entries) = entries {
                let length = entries.len() / sides;
                (spatial < length).then_some(())?;
                for side in (0..sides).rev() {
                    entries.remove(side * length + spatial);
                }
            }
        }
    }
    Some(case)
}

/// The per-axis attributes of a convolution, with the entries that each axis has.
fn per_axis(op: &mut Op) -> Vec<(&mut Option<Vec<i64>>, usize)> {
    match op {
        Op::Conv(Conv { dilations, kernel_shape, pads, strides, .. }) => {
            vec![(dilations, 1), (kernel_shape, 1), (pads, 2), (strides, 1)]
        }
        Op::ConvTranspose(ConvTranspose {
            dilations,
            kernel_shape,
            output_padding,
            output_shape,
            pads,
            strides,
            ..
        }) => vec![
            (dilations, 1),
            (kernel_shape, 1),
            (output_padding, 1),
            (output_shape, 1),
            (pads, 2),
            (strides, 1),
        ],
        _ => vec![],
    }
}

/// Each spatial axis of each input cut: to one position, two, half of them, all but one.
pub fn shrink_input(case: &Case, _: &Frame) -> Vec<Case> {
    let mut candidates = Vec::new();
    for place in 0..case.graph.inputs.len() {
        let extents =
            |axis: usize| case.runs.iter().filter_map(move |run| run.inputs[place].shape().get(axis));
        let rank = case.runs[0].inputs[place].shape().len();
        for axis in 2..rank {
            let largest = extents(axis).max().copied().unwrap_or(0);
            candidates.extend(smaller(largest).filter_map(|extent| {
                let mut case = case.clone();
                let cut = |own: usize| Some((0..own.min(extent)).collect());
                select_input(&mut case, place, axis, cut)?;
                Some(case)
            }));
        }
    }
    candidates
}

/// Each spatial axis of each kernel cut, to one tap first.
pub fn shrink_kernel(case: &Case, frame: &Frame) -> Vec<Case> {
    let mut candidates = Vec::new();
    for (place, node) in case.graph.nodes.iter().enumerate() {
        let Some(weight) = weight_extents(node, frame) else {
            continue;
        };
        for (axis, extent) in weight.iter().enumerate().skip(2) {
            let cuts = smaller(*extent).filter_map(|extent| {
                let mut case = case.clone();
                cut_kernel(&mut case, place, axis, extent)?;
                Some(case)
            });
            candidates.extend(cuts);
        }
    }
    candidates
}

fn weight_extents(node: &Node, frame: &Frame) -> Option<Vec<usize>> {
    let convolution = matches!(node.op, Op::Conv(_) | Op::ConvTranspose(_));
    let weight = convolution.then(|| node.inputs.get(1))??;
    frame.extents(weight)?.first().cloned()
}

fn cut_kernel(case: &mut Case, place: usize, axis: usize, extent: usize) -> Edited {
    let weight = case.graph.nodes[place].inputs[1].clone();
    select(case, &weight, axis, &(0..extent).collect::<Vec<_>>())?;
    let (Op::Conv(Conv { kernel_shape, .. }) | Op::ConvTranspose(ConvTranspose { kernel_shape, .. })) =
        &mut case.graph.nodes[place].op
    else {
        return None;
    };
    if let Some(entry) = kernel_shape.as_mut().and_then(|entries| entries.get_mut(axis - 2)) {
        *entry = extent as i64;
    }
    Some(())
}
