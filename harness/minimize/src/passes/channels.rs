use twinfer_case::Case;
use twinfer_onnx::{Channels, Node};

use super::candidates::Candidates;
use crate::{
    edit::{Edited, parts, select_input, within},
    fit::Baseline,
    selection::select,
};

/// A convolution of a case, with its channels.
#[derive(Clone, Copy)]
struct Convolution {
    /// Its place among the nodes.
    place: usize,
    transposed: bool,
    channels: Channels,
}

/// The first groups of each convolution: one, two, half of them, all but one; and the last half of them.
pub fn fewer_groups<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    edited(
        case,
        baseline,
        |channels| channels.group,
        |case, Convolution { place, transposed, channels }, groups| {
            let node = case.graph.nodes[*place].clone();
            let of_groups = |size: usize| {
                groups.iter().flat_map(|group| group * size..(group + 1) * size).collect::<Vec<_>>()
            };
            let (inputs, outputs) = (of_groups(channels.inputs), of_groups(channels.outputs));
            select(case, &node.inputs[0], 1, &inputs)?;
            select(case, &node.inputs[1], 0, if *transposed { &inputs } else { &outputs })?;
            select_bias(case, &node, &outputs)?;
            *case.graph.nodes[*place].op.window_mut()?.group = Some(groups.len() as i64);
            Some(())
        },
    )
}

/// The first input and output channels of each group, and the last half of them, where there are as many of both: what depends on that stays.
pub fn fewer_both<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    let equal = |channels: &Channels| if channels.inputs == channels.outputs { channels.inputs } else { 0 };
    edited(case, baseline, equal, |case, convolution, kept| {
        keep_inputs(case, convolution, kept)?;
        keep_outputs(case, convolution, kept)
    })
}

/// The first input channels of each group, and the last half of them, then those of each input of the graph.
pub fn fewer_inputs<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    let fed = case.runs[0].inputs.iter().enumerate().flat_map(move |(place, source)| {
        let channels = source.shape().get(1).copied().unwrap_or(0);
        parts(channels).filter_map(move |part| {
            let mut case = case.clone();
            select_input(&mut case, place, 1, |extent| within(&part, extent))?;
            Some(case)
        })
    });
    Box::new(of_groups(case, baseline).chain(fed))
}

fn of_groups<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    edited(case, baseline, |channels| channels.inputs, keep_inputs)
}

/// The first output channels of each group, and the last half of them.
pub fn fewer_outputs<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    edited(case, baseline, |channels| channels.outputs, keep_outputs)
}

/// Twice the input channels of each group, then twice the output channels.
pub fn more<'a>(case: &'a Case, baseline: &'a Baseline) -> Candidates<'a> {
    let convolutions = convolutions(case, baseline);
    Box::new(convolutions.flat_map(|convolution| {
        let Channels { inputs, outputs, .. } = convolution.channels;
        let with = |edit: Edit, count: usize| {
            let mut case = case.clone();
            edit(&mut case, &convolution, &(0..count).chain(0..count).collect::<Vec<_>>()).map(|()| case)
        };
        [with(keep_inputs, inputs), with(keep_outputs, outputs)].into_iter().flatten()
    }))
}

/// Keeps these of the channels of each group, or of the groups.
type Edit = fn(&mut Case, &Convolution, &[usize]) -> Edited;

fn keep_inputs(case: &mut Case, convolution: &Convolution, kept: &[usize]) -> Edited {
    let node = case.graph.nodes[convolution.place].clone();
    let of_groups = of_each(convolution.channels.group, convolution.channels.inputs, kept);
    select(case, &node.inputs[0], 1, &of_groups)?;
    if convolution.transposed {
        select(case, &node.inputs[1], 0, &of_groups)
    } else {
        select(case, &node.inputs[1], 1, kept)
    }
}

fn keep_outputs(case: &mut Case, convolution: &Convolution, kept: &[usize]) -> Edited {
    let node = case.graph.nodes[convolution.place].clone();
    let of_groups = of_each(convolution.channels.group, convolution.channels.outputs, kept);
    if convolution.transposed {
        select(case, &node.inputs[1], 1, kept)?;
    } else {
        select(case, &node.inputs[1], 0, &of_groups)?;
    }
    select_bias(case, &node, &of_groups)
}

/// The case with a count of each convolution made smaller.
fn edited<'a>(
    case: &'a Case,
    baseline: &'a Baseline,
    count: fn(&Channels) -> usize,
    edit: Edit,
) -> Candidates<'a> {
    Box::new(convolutions(case, baseline).flat_map(move |convolution| {
        parts(count(&convolution.channels)).filter_map(move |kept| {
            let mut case = case.clone();
            edit(&mut case, &convolution, &kept.collect::<Vec<_>>())?;
            Some(case)
        })
    }))
}

fn convolutions<'a>(case: &'a Case, baseline: &'a Baseline) -> impl Iterator<Item = Convolution> + 'a {
    let nodes = case.graph.nodes.iter().enumerate();
    nodes.filter_map(|(place, node)| Convolution::of(place, node, baseline))
}

impl Convolution {
    fn of(place: usize, node: &Node, baseline: &Baseline) -> Option<Self> {
        let window = node.op.window()?;
        let weight = baseline.extents(node.inputs.get(1)?)?.first()?;
        Some(Self { place, transposed: window.transposed, channels: window.channels(weight)? })
    }
}

fn select_bias(case: &mut Case, node: &Node, indices: &[usize]) -> Edited {
    node.input(2).map_or(Some(()), |bias| select(case, bias, 0, indices))
}

/// These of every `size` indices.
fn of_each(groups: usize, size: usize, kept: &[usize]) -> Vec<usize> {
    (0..groups).flat_map(|group| kept.iter().map(move |index| group * size + index)).collect()
}
