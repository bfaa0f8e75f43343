use twinfer_case::Case;
use twinfer_onnx::{Node, Op};

use super::candidates::Candidates;
use crate::{
    edit::{Edited, parts, select_input, selected, smaller, within},
    fit::Baseline,
    selection::select,
};

/// The case without one of its spatial axes, of which only the first position is kept.
pub fn drop_axis<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    let rank = data_rank(case, baseline).unwrap_or(0);
    let spatial = if rank > 3 { 0..rank - 2 } else { 0..0 };
    Box::new(spatial.rev().filter_map(move |axis| without_axis(case, baseline, axis, rank)))
}

/// The number of axes of the first input or, in a graph without inputs, of the data of the first node.
fn data_rank(case: &Case, baseline: &Baseline) -> Option<usize> {
    let constant = || baseline.extents(case.graph.nodes.first()?.input(0)?)?.first();
    let fed = case.runs[0].inputs.first().map(|source| source.shape().len());
    fed.or_else(|| constant().map(Vec::len))
}

fn without_axis(case: &Case, baseline: &Baseline, spatial: usize, rank: usize) -> Option<Case> {
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
        let extents = baseline.extents(&initializer.name)?.first()?.len();
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
    let Some(window) = op.window_mut() else { return vec![] };
    let per_axis = [
        Some((window.dilations, 1)),
        Some((window.kernel_shape, 1)),
        window.output_padding.map(|entries| (entries, 1)),
        window.output_shape.map(|entries| (entries, 1)),
        Some((window.pads, 2)),
        Some((window.strides, 1)),
    ];
    per_axis.into_iter().flatten().collect()
}

/// The spatial axes of each input cut: to one position, two, either half of them, all but one. All of an input at the same time first, which
/// keeps what depends on their being alike, then each.
pub fn shrink_input<'a>(case: &'a Case, _: &'a Baseline) -> Candidates<'a> {
    let inputs = case.runs[0].inputs.iter().enumerate();
    let inputs = inputs.flat_map(|(place, source)| {
        let each: Vec<_> = (2..source.shape().len()).map(|axis| (place, vec![axis])).collect();
        let together = (each.len() > 1).then(|| (place, (2..source.shape().len()).collect()));
        together.into_iter().chain(each)
    });
    Box::new(inputs.flat_map(move |(place, axes)| {
        let shapes = case.runs.iter().map(|run| run.inputs[place].shape());
        let extents = shapes.flat_map(|shape| axes.iter().filter_map(|axis| shape.get(*axis)));
        parts(extents.max().copied().unwrap_or(0)).filter_map(move |part| {
            let mut case = case.clone();
            axes.iter()
                .try_for_each(|axis| select_input(&mut case, place, *axis, |own| within(&part, own)))?;
            Some(case)
        })
    }))
}

/// Each axis of each output cut, with everything that it is computed from: to one position, two, either half of them, all but one.
pub fn shrink_output<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    let outputs = case.graph.outputs.iter().filter_map(|output| {
        let extents = baseline.extents(&output.name)?.first()?;
        Some(extents.iter().enumerate().map(move |(axis, extent)| (output, axis, *extent)))
    });
    Box::new(outputs.flatten().flat_map(move |(output, axis, extent)| {
        parts(extent).filter_map(move |part| {
            let mut case = case.clone();
            select(&mut case, &output.name, axis, &part.collect::<Vec<_>>())?;
            Some(case)
        })
    }))
}

/// Each axis of each output of twice the extent, then each axis of each input, then each spatial axis of each kernel.
pub fn grow<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    let outputs = case.graph.outputs.iter().filter_map(|output| {
        let extents = baseline.extents(&output.name)?.first()?;
        Some(extents.iter().enumerate().map(move |(axis, extent)| (output, axis, *extent)))
    });
    let outputs = outputs.flatten().filter_map(|(output, axis, extent)| {
        let mut case = case.clone();
        select(&mut case, &output.name, axis, &twice(extent))?;
        Some(case)
    });
    let inputs = case.runs[0].inputs.iter().enumerate();
    let inputs = inputs.flat_map(|(place, source)| (0..source.shape().len()).map(move |axis| (place, axis)));
    let inputs = inputs.filter_map(|(place, axis)| {
        let mut case = case.clone();
        select_input(&mut case, place, axis, |extent| Some(twice(extent)))?;
        Some(case)
    });
    let kernels = kernel_axes(case, baseline).filter_map(|(place, axis, extent)| {
        let mut case = case.clone();
        keep_positions(&mut case, place, axis, &twice(extent))?;
        Some(case)
    });
    Box::new(outputs.chain(inputs).chain(kernels))
}

/// All indices, and all of them again.
fn twice(extent: usize) -> Vec<usize> {
    (0..extent).chain(0..extent).collect()
}

/// The spatial axes of each kernel cut, to one tap first: all of a kernel at the same time, which keeps what depends on their being alike,
/// then each.
pub fn shrink_kernel<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    let together = weights(case, baseline).filter(|(_, weight)| weight.len() > 3);
    let together = together.flat_map(move |(place, weight)| {
        let largest = weight.iter().skip(2).max().copied().unwrap_or(0);
        smaller(largest).filter_map(move |most| {
            let mut case = case.clone();
            for (axis, extent) in weight.iter().enumerate().skip(2) {
                cut_kernel(&mut case, place, axis, most.min(*extent))?;
            }
            Some(case)
        })
    });
    let each = kernel_axes(case, baseline).flat_map(move |(place, axis, extent)| {
        smaller(extent).filter_map(move |extent| {
            let mut case = case.clone();
            cut_kernel(&mut case, place, axis, extent)?;
            Some(case)
        })
    });
    Box::new(together.chain(each))
}

/// Each spatial axis of each kernel: the place of the node, the axis of its weight and the extent.
fn kernel_axes<'a>(
    case: &'a Case,
    baseline: &'a Baseline,
) -> impl Iterator<Item = (usize, usize, usize)> + 'a {
    weights(case, baseline).flat_map(|(place, weight)| {
        weight.into_iter().enumerate().skip(2).map(move |(axis, extent)| (place, axis, extent))
    })
}

/// The extents of the weight of each convolution, with the place of the node.
fn weights<'a>(case: &'a Case, baseline: &'a Baseline) -> impl Iterator<Item = (usize, Vec<usize>)> + 'a {
    let nodes = case.graph.nodes.iter().enumerate();
    nodes.filter_map(|(place, node)| Some((place, weight_extents(node, baseline)?)))
}

fn weight_extents(node: &Node, baseline: &Baseline) -> Option<Vec<usize>> {
    let weight = node.op.is_convolution().then(|| node.inputs.get(1))??;
    baseline.extents(weight)?.first().cloned()
}

/// Keeps so many positions of a kernel.
fn cut_kernel(case: &mut Case, place: usize, axis: usize, extent: usize) -> Edited {
    keep_positions(case, place, axis, &(0..extent).collect::<Vec<_>>())
}

fn keep_positions(case: &mut Case, place: usize, axis: usize, positions: &[usize]) -> Edited {
    let weight = case.graph.nodes[place].inputs[1].clone();
    select(case, &weight, axis, positions)?;
    let window = case.graph.nodes[place].op.window_mut()?;
    if let Some(entry) = window.kernel_shape.as_mut().and_then(|entries| entries.get_mut(axis - 2)) {
        *entry = positions.len() as i64;
    }
    Some(())
}
