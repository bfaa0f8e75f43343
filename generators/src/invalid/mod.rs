//! The family `invalid`: a valid case with one thing done to it that breaks one named rule.

mod breach;
mod edit;
mod quantizer;

use twinfer_case::{Case, Distribution, Expectation};
use twinfer_onnx::Rule;

use crate::{CaseSpace, Cases, Choices, Menu, Operator, Space, draft::Draft};
use breach::{BREACHES, Breach, LATER_BREACHES};

/// A space of invalid cases: which rules are broken, and the valid cases that they are broken in.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InvalidSpace {
    /// The rule that a case breaks.
    pub rule: Menu<Rule>,
    /// The valid cases to start from, by their first operator. What a rule needs so that it can be broken, such as a
    /// bias of another length, a case has whatever its space says.
    pub valid: Menu<Space>,
    /// Which of the ways to break a rule are drawn.
    pub distribution: Distribution,
}

impl InvalidSpace {
    /// The family `invalid`.
    pub fn new() -> Self {
        Self {
            rule: Menu::new(BREACHES.iter().map(|breach| (breach.rule, 1))),
            valid: Menu::new([(Space::convolutions(), 1), (Space::deconvolutions(), 1)]),
            distribution: Distribution::Baseline,
        }
    }

    /// The family `invalid` as the distribution `full` draws it.
    pub fn full() -> Self {
        Self { distribution: Distribution::Full, ..Self::new() }
    }

    /// This space as a proptest strategy.
    pub const fn cases(self) -> Cases<Self> {
        Cases::of(self)
    }
}

impl Default for InvalidSpace {
    fn default() -> Self {
        Self::new()
    }
}

impl CaseSpace for InvalidSpace {
    fn draw(&self, choices: &mut Choices) -> Case {
        let rule = self.rule.draw(choices);
        let breach = choices.one_of(&self.breaches_of(rule)).to_owned();
        let mut space = self.valid.draw_among(choices, |space| breach.suits(space.lead));
        space.lead = breach.operator.unwrap_or(space.lead);
        (breach.prepare)(&mut space);
        let mut case = Draft::case(&space, choices);
        (breach.apply)(&mut case, choices);
        case.expectation = Expectation::Invalid(rule.name().to_owned());
        case
    }
}

impl InvalidSpace {
    fn breaches_of(&self, rule: Rule) -> Vec<Breach> {
        let later = match self.distribution {
            Distribution::Baseline => &[],
            Distribution::Full => LATER_BREACHES,
        };
        BREACHES.iter().chain(later).copied().filter(|breach| breach.rule == rule).collect()
    }
}

impl Breach {
    fn suits(self, lead: Operator) -> bool {
        self.operator.is_none_or(|operator| operator == lead)
    }
}

#[cfg(test)]
mod tests {
    use twinfer_onnx::infer_shapes;

    use super::*;
    use crate::{Bias, Padding};

    #[test]
    fn every_rule_can_be_broken_in_a_restricted_space() {
        let mut plain = Space::convolutions();
        plain.bias = Menu::only(Bias::Absent);
        plain.conv_padding = Menu::only(Padding::SameUpper);
        plain.opset = Menu::only(20);
        plain.channels = Menu::only(1);
        for rule in InvalidSpace::new().rule.options() {
            let space = InvalidSpace {
                rule: Menu::only(*rule),
                valid: Menu::only(plain.clone()),
                ..InvalidSpace::full()
            };
            for index in 0..20 {
                let case = space.draw(&mut Choices::of_index(8, index));
                let shapes: Vec<_> =
                    case.runs[0].inputs.iter().map(|source| source.shape().to_vec()).collect();
                let broken = infer_shapes(&case.graph, &shapes).err().map(|violation| violation.rule);
                assert_eq!(broken, Some(*rule), "{case:#?}");
            }
        }
    }
}
