use twinfer_case::{Case, TensorSource};
use twinfer_onnx::{AutoPad, DataType, Dim, Node, Op, Rule};

use super::{edit, quantizer};
use crate::{Bias, Choices, Grouping, Menu, Operator, Padding, Source, Space};

/// One way to break one rule.
#[derive(Clone, Copy)]
pub struct Breach {
    pub rule: Rule,
    /// The operator that the breach needs; `None` if any graph will do.
    pub operator: Option<Operator>,
    /// Restricts the valid cases to those it can break.
    pub prepare: fn(&mut Space),
    /// Breaks the rule.
    pub apply: fn(&mut Case, &mut Choices),
}

const fn breach(rule: Rule, prepare: fn(&mut Space), apply: fn(&mut Case, &mut Choices)) -> Breach {
    Breach { rule, operator: None, prepare, apply }
}

const fn of_conv(rule: Rule, prepare: fn(&mut Space), apply: fn(&mut Case, &mut Choices)) -> Breach {
    Breach { operator: Some(Operator::Conv), ..breach(rule, prepare, apply) }
}

const fn of_deconv(rule: Rule, prepare: fn(&mut Space), apply: fn(&mut Case, &mut Choices)) -> Breach {
    Breach { operator: Some(Operator::ConvTranspose), ..breach(rule, prepare, apply) }
}

/// Every breach; several may break one rule.
pub const BREACHES: &[Breach] = &[
    breach(Rule::AttributeKnown, before_training_mode, training_mode),
    breach(Rule::ValueDefined, any, undefined_value),
    breach(Rule::SingleAssignment, any, second_definition),
    breach(Rule::InputCount, any, without_weight),
    breach(Rule::InputCount, any, with_a_fourth_input),
    breach(Rule::OutputCount, any, with_a_second_output),
    breach(Rule::DeclaredOutput, any, declared_channels),
    breach(Rule::ElementType, any, integers),
    breach(Rule::SameElementType, any, other_weight_type),
    breach(Rule::DataRank, one_axis_alone, without_spatial_axes),
    breach(Rule::WeightRank, bare, weight_with_an_axis_more),
    breach(Rule::GroupPositive, any, group_of_nothing),
    breach(Rule::InputChannels, any, weight_channels),
    breach(Rule::GroupDividesChannels, two_groups, undivided_channels),
    breach(Rule::BiasShape, biased, bias_of_one_channel_more),
    breach(Rule::AttributeLength, any, attribute_length),
    of_deconv(Rule::AttributeLength, deconvs_alone, output_padding_length),
    breach(Rule::KernelShape, any, other_kernel_shape),
    breach(Rule::KernelPositive, any, empty_kernel),
    breach(Rule::StridesPositive, any, stride_of_nothing),
    breach(Rule::DilationsPositive, any, dilation_of_nothing),
    breach(Rule::PadsNonNegative, padded, negative_pad),
    breach(Rule::PadsExcludeAutoPad, padded, pads_and_auto_pad),
    of_deconv(Rule::OutputPadding, deconvs_alone, output_padding_of_a_stride),
    of_deconv(Rule::OutputPadding, deconvs_alone, negative_output_padding),
    of_deconv(Rule::OutputShapePositive, deconvs_alone, empty_output_shape),
    of_conv(Rule::OutputExtent, wide_kernels, dilation_beyond_the_input),
    of_deconv(Rule::OutputExtent, padded, pads_beyond_the_output),
    breach(Rule::Broadcast, several_channels, add_of_other_channels),
    breach(Rule::ParameterShape, any, parameter_of_one_channel_more),
    breach(Rule::AttributeKnown, quantizer::before_axes, quantizer::axis_before_there_was_one),
    breach(Rule::InputCount, quantizer::quantized, quantizer::without_scale),
    breach(Rule::ElementType, quantizer::stored, quantizer::dequantized_numbers),
    breach(Rule::ElementType, quantizer::rounded, quantizer::quantized_to_32_bits),
    breach(Rule::SameElementType, quantizer::quantized, quantizer::zero_point_of_another_type),
    breach(Rule::AxisRange, quantizer::quantized, quantizer::axis_beyond_the_rank),
    breach(Rule::ScaleShape, quantizer::quantized, quantizer::a_scale_too_many),
    breach(Rule::ScaleShape, quantizer::quantized, quantizer::matrix_of_scales),
    breach(Rule::ZeroPointShape, quantizer::quantized, quantizer::a_zero_point_too_many),
];

/// The ways that only the distribution `full` draws.
pub const LATER_BREACHES: &[Breach] = &[of_deconv(Rule::AttributeLength, deconvs_alone, output_shape_length)];

fn any(_: &mut Space) {}

/// Nothing follows the last convolution, so that its output may have any shape.
fn bare(space: &mut Space) {
    space.after = Menu::only(None);
}

fn deconvs_alone(space: &mut Space) {
    space.follower = Menu::only(Operator::ConvTranspose);
}

fn before_training_mode(space: &mut Space) {
    space.opset = Menu::new((11..=13).map(|opset| (opset, 1)));
}

fn one_axis_alone(space: &mut Space) {
    bare(space);
    space.before = Menu::only(None);
    space.length = Menu::only(1);
    space.rank = Menu::only(1);
}

fn two_groups(space: &mut Space) {
    bare(space);
    space.before = Menu::only(None);
    space.length = Menu::only(1);
    space.grouping = Menu::only(Grouping::Several(2));
}

fn biased(space: &mut Space) {
    space.bias =
        Menu::new([Source::Initializer, Source::Identity, Source::Sum].map(|source| (Bias::From(source), 1)));
}

fn padded(space: &mut Space) {
    space.follower = Menu::only(space.lead);
    space.conv_padding = Menu::new([(Padding::Symmetric, 1), (Padding::Asymmetric, 1)]);
    space.deconv_padding = space.conv_padding.clone();
}

fn wide_kernels(space: &mut Space) {
    padded(space);
    space.kernel = Menu::new([(2, 1), (3, 1)]);
}

fn several_channels(space: &mut Space) {
    space.grouping = Menu::only(Grouping::One);
    space.channels = Menu::new([(2, 1), (3, 1), (5, 1)]);
}

fn node(case: &mut Case) -> &mut Node {
    let target = edit::target(&case.graph);
    &mut case.graph.nodes[target]
}

fn kernel(case: &Case) -> Vec<i64> {
    edit::kernel(&case.graph, edit::target(&case.graph), 1)
}

fn rank(case: &Case) -> usize {
    kernel(case).len()
}

/// The per-axis attribute, or its default if it is not written, with one axis to change.
fn axis_of<'a>(
    attribute: &'a mut Option<Vec<i64>>,
    rank: usize,
    default: i64,
    choices: &mut Choices,
) -> &'a mut i64 {
    &mut attribute.get_or_insert_with(|| vec![default; rank])[choices.below(rank)]
}

fn training_mode(case: &mut Case, _: &mut Choices) {
    let channels = output_channels(case);
    edit::append(&mut case.graph, edit::normalization(Some(0)), &vec![vec![channels]; 4]);
}

fn output_channels(case: &Case) -> usize {
    match case.graph.outputs[0].shape.as_deref() {
        Some([_, Dim::Fixed(channels), ..]) => *channels,
        _ => unreachable!("the channels of a generated case are fixed"),
    }
}

fn undefined_value(case: &mut Case, choices: &mut Choices) {
    let place = choices.below(2);
    "nowhere".clone_into(&mut node(case).inputs[place]);
}

fn second_definition(case: &mut Case, _: &mut Choices) {
    let first = node(case).outputs[0].clone();
    let again = Node {
        name: format!("node{}", case.graph.nodes.len()),
        op: Op::Relu,
        inputs: vec![first.clone()],
        outputs: vec![first],
    };
    case.graph.nodes.push(again);
}

fn without_weight(case: &mut Case, _: &mut Choices) {
    node(case).inputs.truncate(1);
}

fn with_a_fourth_input(case: &mut Case, _: &mut Choices) {
    let node = node(case);
    let weight = node.inputs[1].clone();
    node.inputs.resize(3, String::new());
    node.inputs.push(weight);
}

fn with_a_second_output(case: &mut Case, _: &mut Choices) {
    node(case).outputs.push("second".to_owned());
}

fn declared_channels(case: &mut Case, _: &mut Choices) {
    let channels = output_channels(case);
    if let Some(shape) = &mut case.graph.outputs[0].shape {
        shape[1] = Dim::Fixed(channels + 1);
    }
}

fn integers(case: &mut Case, _: &mut Choices) {
    edit::retype_all(case, DataType::Int32);
}

fn other_weight_type(case: &mut Case, _: &mut Choices) {
    let target = edit::target(&case.graph);
    let other = match case.request.precision {
        DataType::Float => DataType::Float16,
        _ => DataType::Float,
    };
    edit::retype(&mut case.graph, target, 1, other);
}

fn without_spatial_axes(case: &mut Case, _: &mut Choices) {
    let target = edit::target(&case.graph);
    edit::reshape(&mut case.graph, target, 1, |shape| shape.truncate(2));
    edit::undeclare_output(&mut case.graph);
    for input in &mut case.graph.inputs {
        input.shape = input.shape.take().map(|shape| shape.into_iter().take(2).collect());
    }
    for source in case.runs.iter_mut().flat_map(|run| &mut run.inputs) {
        if let TensorSource::Recipe(recipe) = source {
            recipe.shape.truncate(2);
        }
    }
    let node = node(case);
    let window = edit::window(&mut node.op);
    *window.auto_pad = None;
    for attribute in [window.dilations, window.kernel_shape, window.pads, window.strides] {
        *attribute = None;
    }
    if let Op::ConvTranspose(deconv) = &mut node.op {
        deconv.output_padding = None;
        deconv.output_shape = None;
    }
}

fn weight_with_an_axis_more(case: &mut Case, _: &mut Choices) {
    let target = edit::target(&case.graph);
    edit::reshape(&mut case.graph, target, 1, |shape| shape.push(1));
    *edit::window(&mut node(case).op).kernel_shape = None;
}

fn group_of_nothing(case: &mut Case, choices: &mut Choices) {
    *edit::window(&mut node(case).op).group = Some(-(choices.below(2) as i64));
}

/// The weight takes more input channels than there are, in groups that are as even as before.
fn weight_channels(case: &mut Case, _: &mut Choices) {
    let target = edit::target(&case.graph);
    let node = node(case);
    let deconv = matches!(node.op, Op::ConvTranspose(_));
    let group = edit::window(&mut node.op).group.unwrap_or(1) as usize;
    edit::reshape(&mut case.graph, target, 1, |shape| if deconv { shape[0] += group } else { shape[1] += 1 });
}

/// One channel more than two groups can share: of the output for Conv, of the input for ConvTranspose.
fn undivided_channels(case: &mut Case, _: &mut Choices) {
    let target = edit::target(&case.graph);
    let deconv = matches!(node(case).op, Op::ConvTranspose(_));
    edit::reshape(&mut case.graph, target, 1, |shape| shape[0] += 1);
    edit::undeclare_output(&mut case.graph);
    if deconv {
        widen_inputs(case);
    } else if node(case).input(2).is_some() {
        edit::reshape(&mut case.graph, target, 2, |shape| shape[0] += 1);
    }
}

/// Feeds one channel more; nothing precedes the convolution that would mind.
fn widen_inputs(case: &mut Case) {
    for input in &mut case.graph.inputs {
        if let Some([_, Dim::Fixed(channels), ..]) = input.shape.as_deref_mut() {
            *channels += 1;
        }
    }
    for source in case.runs.iter_mut().flat_map(|run| &mut run.inputs) {
        if let TensorSource::Recipe(recipe) = source {
            recipe.shape[1] += 1;
        }
    }
}

fn bias_of_one_channel_more(case: &mut Case, _: &mut Choices) {
    let target = edit::target(&case.graph);
    edit::reshape(&mut case.graph, target, 2, |shape| shape[0] += 1);
}

fn attribute_length(case: &mut Case, choices: &mut Choices) {
    let kernel = kernel(case);
    let ones = vec![1; kernel.len()];
    let window = edit::window(&mut node(case).op);
    let entries = match choices.below(3) {
        0 => window.strides.get_or_insert(ones),
        1 => window.dilations.get_or_insert(ones),
        _ => window.kernel_shape.get_or_insert(kernel),
    };
    lengthen(entries, choices);
}

fn output_padding_length(case: &mut Case, choices: &mut Choices) {
    let rank = rank(case);
    lengthen(edit::deconv(&mut node(case).op).output_padding.get_or_insert_with(|| vec![0; rank]), choices);
}

fn output_shape_length(case: &mut Case, choices: &mut Choices) {
    let rank = rank(case);
    lengthen(edit::deconv(&mut node(case).op).output_shape.get_or_insert_with(|| vec![4; rank]), choices);
}

fn lengthen(entries: &mut Vec<i64>, choices: &mut Choices) {
    if entries.len() > 1 && choices.percent(50) {
        entries.pop();
    } else {
        entries.push(entries[0]);
    }
}

fn other_kernel_shape(case: &mut Case, choices: &mut Choices) {
    let mut kernel = kernel(case);
    let axis = choices.below(kernel.len());
    kernel[axis] += 1;
    *edit::window(&mut node(case).op).kernel_shape = Some(kernel);
}

fn empty_kernel(case: &mut Case, choices: &mut Choices) {
    let target = edit::target(&case.graph);
    let axis = choices.below(rank(case));
    edit::reshape(&mut case.graph, target, 1, |shape| shape[2 + axis] = 0);
    *edit::window(&mut node(case).op).kernel_shape = None;
}

fn stride_of_nothing(case: &mut Case, choices: &mut Choices) {
    let rank = rank(case);
    *axis_of(edit::window(&mut node(case).op).strides, rank, 1, choices) = -(choices.below(2) as i64);
}

fn dilation_of_nothing(case: &mut Case, choices: &mut Choices) {
    let rank = rank(case);
    *axis_of(edit::window(&mut node(case).op).dilations, rank, 1, choices) = -(choices.below(2) as i64);
}

fn negative_pad(case: &mut Case, choices: &mut Choices) {
    let entries = 2 * rank(case);
    *axis_of(edit::window(&mut node(case).op).pads, entries, 0, choices) = -1;
}

fn pads_and_auto_pad(case: &mut Case, choices: &mut Choices) {
    let auto_pad = *choices.one_of(&[AutoPad::SameUpper, AutoPad::SameLower, AutoPad::Valid]);
    *edit::window(&mut node(case).op).auto_pad = Some(auto_pad);
}

fn output_padding_of_a_stride(case: &mut Case, choices: &mut Choices) {
    let rank = rank(case);
    let deconv = edit::deconv(&mut node(case).op);
    let axis = choices.below(rank);
    let entry = |attribute: &Option<Vec<i64>>| attribute.as_ref().map_or(1, |entries| entries[axis]);
    let limit = entry(&deconv.strides).max(entry(&deconv.dilations));
    deconv.output_padding.get_or_insert_with(|| vec![0; rank])[axis] = limit;
}

fn negative_output_padding(case: &mut Case, choices: &mut Choices) {
    let rank = rank(case);
    *axis_of(&mut edit::deconv(&mut node(case).op).output_padding, rank, 0, choices) = -1;
}

fn empty_output_shape(case: &mut Case, choices: &mut Choices) {
    let rank = rank(case);
    let nothing = -(choices.below(2) as i64);
    *axis_of(&mut edit::deconv(&mut node(case).op).output_shape, rank, 1, choices) = nothing;
}

fn dilation_beyond_the_input(case: &mut Case, choices: &mut Choices) {
    let rank = rank(case);
    *axis_of(edit::window(&mut node(case).op).dilations, rank, 1, choices) = 1000;
}

fn pads_beyond_the_output(case: &mut Case, choices: &mut Choices) {
    let entries = 2 * rank(case);
    *axis_of(edit::window(&mut node(case).op).pads, entries, 0, choices) = 1000;
}

fn add_of_other_channels(case: &mut Case, _: &mut Choices) {
    let channels = output_channels(case);
    let shape = std::iter::once(channels + 1).chain(std::iter::repeat_n(1, rank(case))).collect();
    edit::append(&mut case.graph, Op::Add, &[shape]);
}

fn parameter_of_one_channel_more(case: &mut Case, choices: &mut Choices) {
    let channels = output_channels(case);
    let mut shapes = vec![vec![channels]; 4];
    shapes[choices.below(4)] = vec![channels + 1];
    edit::append(&mut case.graph, edit::normalization(None), &shapes);
}
