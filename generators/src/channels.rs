//! Channels of layers: how many, and in how many groups.

use twinfer_onnx::Channels;

use crate::{Choices, Grouping, Menu, Space, caps::Caps};

/// Percent of quantized layers whose groups are given as many output as input channels, in addition to chance.
const EQUAL: u32 = 30;

/// The channels of a layer that nothing constrains.
pub fn draw(space: &Space, caps: Caps, choices: &mut Choices) -> Channels {
    let few = |count: &usize| *count <= caps.channels;
    let (group, inputs) = match space.grouping.draw(choices) {
        Grouping::One => (1, space.channels.draw_among(choices, few)),
        Grouping::Several(group) => {
            (group, space.channels.draw_among(choices, |count| count * group <= caps.channels))
        }
        Grouping::Depthwise => (space.channels.draw_among(choices, few), 1),
    };
    with_outputs(space, (group, inputs), caps, choices)
}

/// The channels of a layer whose input has `channels`.
pub fn behind(space: &Space, channels: usize, caps: Caps, choices: &mut Choices) -> Channels {
    let divides = |group: usize| channels.is_multiple_of(group);
    let group = space.grouping.drawn_group(channels, divides, choices);
    with_outputs(space, (group, channels / group), caps, choices)
}

/// The channels of a layer with these input and output channels, in groups that divide both.
pub fn between(space: &Space, (inputs, outputs): (usize, usize), choices: &mut Choices) -> Channels {
    let divides = |group: usize| inputs.is_multiple_of(group) && outputs.is_multiple_of(group);
    let group = space.grouping.drawn_group(inputs, divides, choices);
    Channels { group, inputs: inputs / group, outputs: outputs / group }
}

fn with_outputs(
    space: &Space,
    (group, inputs): (usize, usize),
    caps: Caps,
    choices: &mut Choices,
) -> Channels {
    // scales along the wrong axis are refused, or show at once, unless it is as long as the right one
    if space.quantization.is_some() && choices.percent(EQUAL) {
        return Channels { group, inputs, outputs: inputs };
    }
    let outputs = space.channels.draw_among(choices, |count| count * group <= caps.channels.max(group));
    Channels { group, inputs, outputs }
}

impl Menu<Grouping> {
    /// The number of groups that a drawn grouping makes of `inputs` channels; 1 if no grouping on the menu suits.
    fn drawn_group(&self, inputs: usize, suits: impl Fn(usize) -> bool, choices: &mut Choices) -> usize {
        let groups = |grouping: Grouping| match grouping {
            Grouping::One => 1,
            Grouping::Several(group) => group,
            Grouping::Depthwise => inputs,
        };
        let drawn = groups(self.draw_among(choices, |grouping| suits(groups(*grouping))));
        if suits(drawn) { drawn } else { 1 }
    }
}
