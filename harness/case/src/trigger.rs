use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Fact;

/// The condition under which a finding shows, found by experiments on the backend: one node of the graph is of this operator, and all
/// facts hold for it.
///
/// `Display` gives the line that reports show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// The ONNX operator type.
    pub operator: String,
    /// What holds for the node; nothing if every node of the operator shows the finding.
    pub facts: Vec<Fact>,
    /// What cases that satisfy the condition came to.
    pub satisfying: Tally,
    /// What cases came to that satisfy all of the condition but one fact.
    pub missing: Tally,
    /// What those of the cases came to that satisfy the condition at a node at which the explanation would show; `None` if none was used to find
    /// the condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Tally>,
}

/// How many of some cases showed a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The number of cases that showed it.
    pub diverging: u64,
    /// The number of all these cases.
    pub cases: u64,
}

/// The share of the cases that satisfy a condition, in percent, that diverge if they nearly always do: in some of them what is wrong does not
/// reach an output.
const MOST: u64 = 75;
/// The same share for a condition without facts, which no case just misses.
const MOST_WITHOUT_FACTS: u64 = 90;

impl Trigger {
    /// Whether nearly all cases that satisfy the condition diverge, as far as the explanation, if there is one, would show in them. Otherwise
    /// the finding also depends on what is no fact, such as values.
    pub fn is_sufficient(&self) -> bool {
        self.is_nearly_always(self.shown.unwrap_or(self.satisfying))
    }

    /// Whether nearly all of some cases diverge.
    const fn is_nearly_always(&self, Tally { diverging, cases }: Tally) -> bool {
        let most = if self.facts.is_empty() { MOST_WITHOUT_FACTS } else { MOST };
        diverging as u128 * 100 >= most as u128 * cases as u128
    }

    /// Whether it says more than which operator the finding is about.
    pub fn is_condition(&self) -> bool {
        !self.facts.is_empty() || self.is_sufficient()
    }

    /// The condition with what a reader has to know of its evidence: how often it holds if the finding does not nearly always show. `None` if
    /// no condition was found.
    pub fn remark(&self) -> Option<String> {
        let Tally { diverging, cases } = self.satisfying;
        let often = match (self.is_nearly_always(self.satisfying), self.is_sufficient()) {
            (true, _) => String::new(),
            (false, true) => format!(" (in {diverging} of {cases} cases)"),
            (false, false) => format!(" (not always: in {diverging} of {cases} cases)"),
        };
        self.is_condition().then(|| format!("{}{often}", self.condition()))
    }

    /// The condition without its evidence.
    pub fn condition(&self) -> String {
        let facts: Vec<_> = self.facts.iter().map(Fact::to_string).collect();
        match facts.as_slice() {
            [] => self.operator.clone(),
            [only] => format!("{} where {only}", self.operator),
            [first @ .., last] => format!("{} where {} and {last}", self.operator, first.join(", ")),
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { diverging, cases } = self.satisfying;
        if !self.is_condition() {
            return write!(f, "none found: {diverging} of {cases} cases with {} diverge", self.operator);
        }
        write!(f, "{}: {diverging} of {cases} such cases diverge", self.condition())?;
        if let Some(Tally { diverging, cases }) = self.shown {
            write!(f, " ({diverging} of {cases} in which the error would show)")?;
        }
        if self.missing.cases > 0 {
            write!(
                f,
                ", and {} of {} that meet all but one of these conditions",
                self.missing.diverging, self.missing.cases
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axes, Property, Quantity, Relation};

    fn trigger(facts: Vec<Fact>, missing: Tally) -> String {
        let satisfying = Tally { diverging: 60, cases: 60 };
        Trigger { operator: "Conv".to_owned(), facts, satisfying, missing, shown: None }.to_string()
    }

    #[test]
    fn condition_that_is_not_sufficient_says_how_often_it_holds() {
        let (operator, missing) = ("Conv".to_owned(), Tally::default());
        let often = |diverging| {
            let satisfying = Tally { diverging, cases: 106 };
            Trigger { operator: operator.clone(), facts: Vec::new(), satisfying, missing, shown: None }
        };
        let shown = Trigger { shown: Some(Tally { diverging: 11, cases: 11 }), ..often(11) };
        assert!(shown.is_sufficient() && !often(11).is_sufficient());
        assert_eq!(shown.remark().as_deref(), Some("Conv (in 11 of 106 cases)"));
        assert_eq!(
            shown.to_string(),
            "Conv: 11 of 106 such cases diverge (11 of 11 in which the error would show)"
        );
        let rarely = Trigger { facts: vec![Fact::Is(Property::Bias)], ..often(11) };
        assert!(rarely.remark().is_some_and(|remark| remark.ends_with(" (not always: in 11 of 106 cases)")));
        assert_eq!(often(106).remark().as_deref(), Some("Conv"));
        assert_eq!(often(11).remark(), None);
        assert_eq!(often(11).to_string(), "none found: 11 of 106 cases with Conv diverge");
    }

    #[test]
    fn facts_of_channels_and_of_the_last_axis_are_stated() {
        let stated = |fact: Fact| fact.to_string();
        let channels = Fact::Number(Axes::Some, Quantity::GroupInputs, Relation::MultipleOf, 4);
        assert_eq!(stated(channels), "input channels per group are a multiple of 4");
        let kernel = Fact::Pair(Axes::Some, Quantity::Kernel, Relation::NoMultipleOf, Quantity::Stride);
        assert_eq!(stated(kernel), "kernel size is no multiple of stride on some axis");
        assert_eq!(stated(Fact::Even(Axes::Last, Quantity::Extent)), "input extent is even on the last axis");
        assert_eq!(stated(Fact::IsNot(Property::AxisSet)), "axis is not set");
        assert_eq!(stated(Fact::Odd(Axes::Some, Quantity::LastExtent)), "last extent is odd");
        let scale = |relation| Fact::Number(Axes::Some, Quantity::SmallestScale, relation, 4);
        assert_eq!(stated(scale(Relation::Above)), "smallest scale < 2^-4");
        assert_eq!(stated(scale(Relation::AtMost)), "smallest scale ≥ 2^-4");
    }

    #[test]
    fn condition_is_stated_with_its_evidence() {
        let facts = vec![
            Fact::Number(Axes::Some, Quantity::Group, Relation::Above, 1),
            Fact::Pair(Axes::Some, Quantity::Stride, Relation::Unequal, Quantity::Dilation),
            Fact::Is(Property::Bias),
        ];
        assert_eq!(
            trigger(facts, Tally { diverging: 0, cases: 55 }),
            "Conv where group > 1, stride ≠ dilation on some axis and there is a bias: 60 of 60 such cases diverge, and 0 \
             of 55 that meet all but one of these conditions"
        );
        assert_eq!(trigger(Vec::new(), Tally::default()), "Conv: 60 of 60 such cases diverge");
    }
}
