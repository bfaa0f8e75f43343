use twinfer_case::Case;
use twinfer_onnx::{Node, Op};

use super::Candidates;
use crate::{
    edit::{Edited, select, select_input, smaller},
    fit::Frame,
};

/// The groups and channels of a convolution.
#[derive(Clone, Copy)]
struct Channels {
    place: usize,
    transposed: bool,
    group: usize,
    /// Input channels of a group.
    inputs: usize,
    /// Output channels of a group.
    outputs: usize,
}

/// The first groups of each convolution: one, two, half of them, all but one.
pub fn fewer_groups<'a>(case: &'a Case, frame: &'a Frame) -> Candidates<'a> {
    edited(
        case,
        frame,
        |channels| channels.group,
        |case, channels, group| {
            let node = case.graph.nodes[channels.place].clone();
            let inputs: Vec<_> = (0..group * channels.inputs).collect();
            select(case, &node.inputs[0], 1, &inputs)?;
            let weight = if channels.transposed { group * channels.inputs } else { group * channels.outputs };
            select(case, &node.inputs[1], 0, &(0..weight).collect::<Vec<_>>())?;
            select_bias(case, &node, &(0..group * channels.outputs).collect::<Vec<_>>())?;
            set_group(case, channels.place, group)
        },
    )
}

/// The first input and output channels of each group, where there are as many of both: what depends on that stays.
pub fn fewer_both<'a>(case: &'a Case, frame: &'a Frame) -> Candidates<'a> {
    let equal = |channels: &Channels| if channels.inputs == channels.outputs { channels.inputs } else { 0 };
    edited(case, frame, equal, |case, channels, kept| {
        keep_inputs(case, channels, kept)?;
        keep_outputs(case, channels, kept)
    })
}

/// The first input channels of each group, then those of each input of the graph.
pub fn fewer_inputs<'a>(case: &'a Case, frame: &'a Frame) -> Candidates<'a> {
    let fed = case.runs[0].inputs.iter().enumerate().flat_map(move |(place, source)| {
        let channels = source.shape().get(1).copied().unwrap_or(0);
        smaller(channels).filter_map(move |kept| {
            let mut case = case.clone();
            select_input(&mut case, place, 1, |extent| Some((0..kept.min(extent)).collect()))?;
            Some(case)
        })
    });
    Box::new(of_groups(case, frame).chain(fed))
}

fn of_groups<'a>(case: &'a Case, frame: &'a Frame) -> Candidates<'a> {
    edited(case, frame, |channels| channels.inputs, keep_inputs)
}

/// The first output channels of each group.
pub fn fewer_outputs<'a>(case: &'a Case, frame: &'a Frame) -> Candidates<'a> {
    edited(case, frame, |channels| channels.outputs, keep_outputs)
}

fn keep_inputs(case: &mut Case, channels: &Channels, kept: usize) -> Edited {
    let node = case.graph.nodes[channels.place].clone();
    let of_groups = first_of_each(channels.group, channels.inputs, kept);
    select(case, &node.inputs[0], 1, &of_groups)?;
    if channels.transposed {
        select(case, &node.inputs[1], 0, &of_groups)
    } else {
        select(case, &node.inputs[1], 1, &(0..kept).collect::<Vec<_>>())
    }
}

fn keep_outputs(case: &mut Case, channels: &Channels, kept: usize) -> Edited {
    let node = case.graph.nodes[channels.place].clone();
    let of_groups = first_of_each(channels.group, channels.outputs, kept);
    if channels.transposed {
        select(case, &node.inputs[1], 1, &(0..kept).collect::<Vec<_>>())?;
    } else {
        select(case, &node.inputs[1], 0, &of_groups)?;
    }
    select_bias(case, &node, &of_groups)
}

/// The case with a count of each convolution made smaller.
fn edited<'a>(
    case: &'a Case,
    frame: &'a Frame,
    count: fn(&Channels) -> usize,
    edit: fn(&mut Case, &Channels, usize) -> Edited,
) -> Candidates<'a> {
    let nodes = case.graph.nodes.iter().enumerate();
    let convolutions = nodes.filter_map(|(place, node)| Channels::of(place, node, frame));
    Box::new(convolutions.flat_map(move |channels| {
        smaller(count(&channels)).filter_map(move |kept| {
            let mut case = case.clone();
            edit(&mut case, &channels, kept)?;
            Some(case)
        })
    }))
}

impl Channels {
    fn of(place: usize, node: &Node, frame: &Frame) -> Option<Self> {
        let (transposed, group) = match &node.op {
            Op::Conv(conv) => (false, conv.group),
            Op::ConvTranspose(deconv) => (true, deconv.group),
            _ => return None,
        };
        let group = usize::try_from(group.unwrap_or(1)).ok()?;
        let weight = frame.extents(node.inputs.get(1)?)?.first()?;
        let (inputs, outputs) = if transposed {
            (weight.first()?.checked_div(group)?, *weight.get(1)?)
        } else {
            (*weight.get(1)?, weight.first()?.checked_div(group)?)
        };
        Some(Self { place, transposed, group, inputs, outputs })
    }
}

fn select_bias(case: &mut Case, node: &Node, indices: &[usize]) -> Edited {
    match node.inputs.get(2) {
        Some(bias) if !bias.is_empty() => select(case, bias, 0, indices),
        _ => Some(()),
    }
}

fn set_group(case: &mut Case, place: usize, kept: usize) -> Edited {
    match &mut case.graph.nodes[place].op {
        Op::Conv(conv) => conv.group = Some(kept as i64),
        Op::ConvTranspose(deconv) => deconv.group = Some(kept as i64),
        _ => return None,
    }
    Some(())
}

/// The first `kept` of every `size` indices.
fn first_of_each(groups: usize, size: usize, kept: usize) -> Vec<usize> {
    (0..groups).flat_map(|group| (0..kept).map(move |index| group * size + index)).collect()
}
