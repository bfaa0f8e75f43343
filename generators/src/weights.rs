//! Weights on a grid, as integers: within what a budget leaves to the sums that they make.

use crate::{Choices, Quantizer, layer::Layer};

/// How a parameter is quantized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    pub quantizer: Quantizer,
    /// The axis along which scales differ; none for one scale.
    pub axis: Option<usize>,
}

/// Weights as integers, each in steps of the grid times 2 to the shift of its place along the axis.
pub struct Weights {
    pub levels: Vec<i64>,
    pub shifts: Vec<u32>,
    /// One entry a shift.
    pub zero_points: Vec<i64>,
    /// Elements from one place along the axis to the next.
    inner: usize,
}

/// The most that two scales of a weight differ, as a power of two: two decades.
const SPREAD: u32 = 7;

impl Weights {
    /// Weights whose magnitudes sum to no more than `gain` steps for each output channel: all of them nonzero if `gain`
    /// suffices, otherwise as many ones as it allows, at random positions.
    pub fn within(layer: &Layer, gain: u64, scheme: Option<Scheme>, choices: &mut Choices) -> Self {
        let each = gain / layer.taps() as u64;
        // few weights of scales far apart, or all of them of scales as far apart as that allows
        let most = if choices.percent(50) { gain / 4 } else { each };
        let mut weights = Self::blank(layer, most, scheme, choices);
        let largest = if scheme.is_some() { *choices.one_of(&[5, 20, 128, 128]) } else { 7 };
        let mut places: Vec<_> = (0..weights.levels.len()).collect();
        if weights.shifts.iter().any(|shift| each >> shift == 0) {
            choices.shuffle(&mut places);
        }
        let mut left = vec![gain; layer.output_channels()];
        for place in places {
            let channel = weights.channel(place);
            let shift = weights.shifts[channel];
            let left = &mut left[layer.output_channel_of(place)];
            let limit = (each >> shift).clamp(1, largest);
            let level = nonzero(limit.min(*left >> shift), choices);
            let level = scheme.map_or(level, |scheme| scheme.fitting(level, weights.zero_points[channel]));
            *left -= level.unsigned_abs() << shift;
            weights.levels[place] = level;
        }
        weights
    }

    /// Zeros, with the zero points and the scales, at `most` so far apart, by which they may become something.
    fn blank(layer: &Layer, most: u64, scheme: Option<Scheme>, choices: &mut Choices) -> Self {
        let shape = layer.weight_shape();
        let axis = scheme.and_then(|scheme| scheme.axis);
        let extent = axis.map_or(1, |axis| shape[axis]);
        let spread = if extent > 1 { SPREAD.min(most.max(1).ilog2()) } else { 0 };
        let zero_points =
            (0..extent).map(|_| scheme.map_or(0, |scheme| scheme.quantizer.zero_point(choices)));
        Self {
            levels: vec![0; shape.iter().product()],
            zero_points: zero_points.collect(),
            shifts: spread_out(extent, spread as usize, choices)
                .into_iter()
                .map(|shift| shift as u32)
                .collect(),
            inner: axis.map_or(usize::MAX, |axis| shape[axis + 1..].iter().product()),
        }
    }

    /// The place along the axis of an element, counted in row-major order.
    pub fn channel(&self, element: usize) -> usize {
        element / self.inner % self.shifts.len()
    }

    /// The largest sum of magnitudes over the weights of one output channel.
    pub fn heaviest_output(&self, layer: &Layer) -> u64 {
        let mut sums = vec![0; layer.output_channels()];
        for (element, level) in self.levels.iter().enumerate() {
            sums[layer.output_channel_of(element)] +=
                level.unsigned_abs() << self.shifts[self.channel(element)];
        }
        sums.into_iter().max().unwrap_or(0)
    }
}

impl Scheme {
    /// A level that the integers have: `level`, its opposite, or the end of the range.
    fn fitting(self, level: i64, zero_point: i64) -> i64 {
        let (least, greatest) = self.quantizer.levels(zero_point);
        if (least..=greatest).contains(&level) { level } else { (-level).clamp(least, greatest) }
    }
}

/// Numbers up to `most` in random order, including both ends if there are at least two.
pub fn spread_out(count: usize, most: usize, choices: &mut Choices) -> Vec<usize> {
    let mut numbers: Vec<_> =
        (0..count).map(|_| if most == 0 { 0 } else { choices.within(0..=most) }).collect();
    if count > 1 && most > 0 {
        (numbers[0], numbers[1]) = (0, most);
        choices.shuffle(&mut numbers);
    }
    numbers
}

/// A uniform nonzero number in `-limit..=limit`; zero if there is none.
pub fn nonzero(limit: u64, choices: &mut Choices) -> i64 {
    if limit == 0 {
        return 0;
    }
    let magnitude = choices.within(1..=limit as usize) as i64;
    if choices.percent(50) { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Space, caps::Caps, channels};

    #[test]
    fn the_sums_of_magnitudes_stay_within_the_gain() {
        let mut choices = Choices::of_index(5, 0);
        for space in [Space::convolutions(), Space::deconvolutions()] {
            for _ in 0..1000 {
                let caps = Caps::of(2, 1);
                let channels = channels::draw(&space, caps, &mut choices);
                let layer = Layer::draw(&space, space.lead, channels, 2, caps, &mut choices);
                let axis = [None, Some(0), Some(1), Some(2)][choices.below(4)];
                let scheme = choices.percent(70).then_some(Scheme { quantizer: Quantizer::SYMMETRIC, axis });
                let gain = *choices.one_of(&[1, 4, 30, 500, 20_000]);
                let weights = Weights::within(&layer, gain, scheme, &mut choices);
                let heaviest = weights.heaviest_output(&layer);
                assert!(heaviest <= gain, "{heaviest} of {gain}: {layer:?}");
                assert!(heaviest > 0, "no weights: {layer:?}");
            }
        }
    }

    #[test]
    fn scales_of_several_places_reach_both_ends_of_their_spread() {
        let mut choices = Choices::of_index(5, 1);
        for count in 2..6 {
            let mut shifts = spread_out(count, 7, &mut choices);
            shifts.sort_unstable();
            assert_eq!((shifts[0], shifts[count - 1]), (0, 7));
        }
    }
}
