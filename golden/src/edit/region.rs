use super::{lane::Along, operand::Operand, operator::Operator};

/// A part of an operator's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    pub along: Along,
    pub part: Part,
}

/// Some of the indexes along something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    First,
    Last,
    NotFirst,
    NotLast,
    Odd,
    Even,
    /// Behind the second one.
    BeyondTwo,
    /// Behind the first half, which has the odd one.
    SecondHalf,
    /// Behind the last whole block of so many.
    Beyond(usize),
}

impl Region {
    /// Every part of the output of an operator.
    pub fn all(operator: Operator) -> Vec<Self> {
        let along = Along::ALL
            .iter()
            .filter(|along| **along != Along::EverySpatial && along.is_of(operator, Operand::Output));
        let parts = [
            Part::First,
            Part::Last,
            Part::NotFirst,
            Part::NotLast,
            Part::Odd,
            Part::Even,
            Part::BeyondTwo,
            Part::SecondHalf,
            Part::Beyond(2),
            Part::Beyond(4),
        ];
        along.flat_map(|along| parts.map(|part| Self { along: *along, part })).collect()
    }

    /// For each place of an output of this shape, whether it belongs to the part; `None` if there is nothing to tell apart.
    pub fn places(self, operator: Operator, shape: &[usize], groups: usize) -> Option<Vec<bool>> {
        let lane = *self.along.lanes(operator, Operand::Output, shape, groups).first()?;
        let count = shape.iter().product();
        Some((0..count).map(|place| self.part.contains(lane.index(place), lane.extent)).collect())
    }

    /// The name in names of edits.
    pub fn slug(self) -> String {
        let along = self.along.slug();
        match self.part {
            Part::First => format!("in-first-of-{along}"),
            Part::Last => format!("in-last-of-{along}"),
            Part::NotFirst => format!("except-first-of-{along}"),
            Part::NotLast => format!("except-last-of-{along}"),
            Part::Odd => format!("in-odd-of-{along}"),
            Part::Even => format!("in-even-of-{along}"),
            Part::BeyondTwo => format!("beyond-2-of-{along}"),
            Part::SecondHalf => format!("in-second-half-of-{along}"),
            Part::Beyond(size) => format!("beyond-blocks-of-{size}-of-{along}"),
        }
    }

    /// Where it is, such as "in the last channel of the output".
    pub fn clause(self) -> String {
        let (noun, place) = self.along.noun();
        let which = match self.part {
            Part::First => "the first",
            Part::Last => "the last",
            Part::NotFirst => "all but the first",
            Part::NotLast => "all but the last",
            Part::Odd => "every second",
            Part::Even => "the first and then every second",
            Part::BeyondTwo => return format!("behind the second {noun}{place} of the output"),
            Part::SecondHalf => {
                return format!("behind the first half, rounded up, of the {noun}s{place} of the output");
            }
            Part::Beyond(size) => {
                return format!("behind the last whole block of {size} {noun}s{place} of the output");
            }
        };
        format!("in {which} {noun}{place} of the output")
    }
}

impl Part {
    const fn contains(self, index: usize, extent: usize) -> bool {
        match self {
            Self::First => index == 0,
            Self::Last => index + 1 == extent,
            Self::NotFirst => index > 0,
            Self::NotLast => index + 1 < extent,
            Self::Odd => index % 2 == 1,
            Self::Even => index.is_multiple_of(2),
            Self::BeyondTwo => index > 1,
            Self::SecondHalf => index >= extent.div_ceil(2),
            Self::Beyond(size) => index >= extent / size * size,
        }
    }
}
