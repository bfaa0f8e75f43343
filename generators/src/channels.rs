use crate::{Choices, Grouping, Menu, Space, caps::Caps};

/// Percent of quantized layers whose groups give as many channels as they take, beside those that do so by chance.
const ALIKE: u32 = 30;

/// The channels of a layer, in groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    pub group: usize,
    /// Into each group.
    pub inputs: usize,
    /// Out of each group.
    pub outputs: usize,
}

impl Channels {
    /// Of a layer that is free in all of it.
    pub fn draw(space: &Space, caps: Caps, choices: &mut Choices) -> Self {
        let few = |count: &usize| *count <= caps.channels;
        let (group, inputs) = match space.grouping.draw(choices) {
            Grouping::One => (1, space.channels.draw_among(choices, few)),
            Grouping::Several(group) => {
                (group, space.channels.draw_among(choices, |count| count * group <= caps.channels))
            }
            Grouping::Depthwise => (space.channels.draw_among(choices, few), 1),
        };
        Self::with_some_outputs(space, (group, inputs), caps, choices)
    }

    /// Of a layer that takes all channels of what is in front of it.
    pub fn behind(space: &Space, channels: usize, caps: Caps, choices: &mut Choices) -> Self {
        let divides = |group: usize| channels.is_multiple_of(group);
        let group = space.grouping.drawn_group(channels, divides, choices);
        Self::with_some_outputs(space, (group, channels / group), caps, choices)
    }

    /// Of a layer with so many channels in and out, in groups that divide both.
    pub fn between(space: &Space, (inputs, outputs): (usize, usize), choices: &mut Choices) -> Self {
        let divides = |group: usize| inputs.is_multiple_of(group) && outputs.is_multiple_of(group);
        let group = space.grouping.drawn_group(inputs, divides, choices);
        Self { group, inputs: inputs / group, outputs: outputs / group }
    }

    /// All in one group.
    pub const fn in_one_group((inputs, outputs): (usize, usize)) -> Self {
        Self { group: 1, inputs, outputs }
    }

    fn with_some_outputs(
        space: &Space,
        (group, inputs): (usize, usize),
        caps: Caps,
        choices: &mut Choices,
    ) -> Self {
        // scales along the wrong axis are refused, or show at once, unless it is as long as the right one
        if space.quantization.is_some() && choices.percent(ALIKE) {
            return Self { group, inputs, outputs: inputs };
        }
        let outputs = space.channels.draw_among(choices, |count| count * group <= caps.channels.max(group));
        Self { group, inputs, outputs }
    }

    /// Into all groups.
    pub const fn all_inputs(self) -> usize {
        self.group * self.inputs
    }

    /// Out of all groups.
    pub const fn all_outputs(self) -> usize {
        self.group * self.outputs
    }
}

impl Menu<Grouping> {
    /// As many groups as the grouping makes of so many input channels; one where none on the menu suits.
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
