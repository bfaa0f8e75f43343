//! What a node is like: the quantities and properties of which facts are made.

use std::collections::{BTreeMap, BTreeSet};

use twinfer_case::{Axes, Fact, Property, Quantity, Relation, Trigger};

/// The quantities and properties of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribedNode {
    /// The ONNX operator type.
    pub operator: String,
    /// One number for each spatial axis, or one for the node.
    pub(crate) quantities: BTreeMap<Quantity, Vec<i64>>,
    pub(crate) properties: BTreeSet<Property>,
}

/// Quantities of one axis that are compared with each other.
const PAIRS: [(Quantity, Quantity); 14] = [
    (Quantity::Stride, Quantity::Dilation),
    (Quantity::Stride, Quantity::Kernel),
    (Quantity::Kernel, Quantity::Stride),
    (Quantity::Dilation, Quantity::Kernel),
    (Quantity::PadBegin, Quantity::PadEnd),
    (Quantity::PadBegin, Quantity::Kernel),
    (Quantity::PadBegin, Quantity::Stride),
    (Quantity::OutputPadding, Quantity::Dilation),
    (Quantity::Extent, Quantity::Kernel),
    (Quantity::Extent, Quantity::OutputExtent),
    (Quantity::GroupInputs, Quantity::GroupOutputs),
    (Quantity::Channels, Quantity::OutputChannels),
    (Quantity::OutputChannels, Quantity::Channels),
    (Quantity::Group, Quantity::GroupOutputs),
];

/// Numbers that quantities are compared with.
const THRESHOLDS: [i64; 8] = [0, 1, 2, 3, 4, 7, 8, 16];

/// Versions of the operator set that are the last before quantizers change.
const OPSETS: [i64; 5] = [12, 18, 20, 22, 23];

/// Numbers that channels are said to be a multiple of.
const MULTIPLES: [i64; 2] = [4, 8];

/// The largest number that a quantity is said to equal.
const MOST_EQUAL: i64 = 8;

impl DescribedNode {
    /// Whether `fact` holds; a statement about a quantity that the node does not have never does.
    pub fn has(&self, fact: Fact) -> bool {
        match fact {
            Fact::Is(property) => self.properties.contains(&property),
            Fact::IsNot(property) => !self.properties.contains(&property),
            Fact::Number(axes, quantity, relation, number) => {
                holds(axes, self.numbers(quantity).iter().map(|&value| is(value, relation, number)))
            }
            Fact::Pair(axes, one, relation, other) => {
                let pairs = self.numbers(one).iter().zip(self.numbers(other));
                holds(axes, pairs.map(|(&one, &other)| is(one, relation, other)))
            }
            Fact::Odd(axes, quantity) => {
                holds(axes, self.numbers(quantity).iter().map(|value| value % 2 != 0))
            }
            Fact::Even(axes, quantity) => {
                holds(axes, self.numbers(quantity).iter().map(|value| value % 2 == 0))
            }
            Fact::Varies(quantity) => self.varies(quantity),
            Fact::Uniform(quantity) => !self.numbers(quantity).is_empty() && !self.varies(quantity),
        }
    }

    /// Every fact that holds and that a condition may name, the simplest first.
    pub fn facts(&self) -> Vec<Fact> {
        let properties =
            Property::ALL.iter().flat_map(|&property| [Fact::Is(property), Fact::IsNot(property)]);
        let quantities = self.quantities.keys().flat_map(|&quantity| about(quantity));
        let pairs = PAIRS.iter().flat_map(|&(one, other)| between(one, other));
        let mut facts: Vec<_> =
            properties.chain(quantities).chain(pairs).filter(|&fact| self.has(fact)).collect();
        facts.sort_by_key(|fact| (cost(*fact), *fact));
        facts
    }

    /// Whether every fact of a condition holds.
    fn has_all(&self, trigger: &Trigger) -> bool {
        trigger.facts.iter().all(|&fact| self.has(fact))
    }

    fn varies(&self, quantity: Quantity) -> bool {
        self.numbers(quantity).windows(2).any(|pair| pair[0] != pair[1])
    }

    fn numbers(&self, quantity: Quantity) -> &[i64] {
        self.quantities.get(&quantity).map_or(&[], Vec::as_slice)
    }
}

/// Whether one of `nodes` satisfies the condition of `trigger`.
pub fn satisfies(nodes: &[DescribedNode], trigger: &Trigger) -> bool {
    nodes.iter().any(|node| node.operator == trigger.operator && node.has_all(trigger))
}

/// For each of `nodes`, whether what is wrong may show there: not if it is of the operator of `trigger` and does not satisfy its condition.
pub fn concerned(nodes: &[DescribedNode], trigger: &Trigger) -> Vec<bool> {
    nodes.iter().map(|node| node.operator != trigger.operator || node.has_all(trigger)).collect()
}

/// How much a fact adds to a condition, in bits beyond those that choose it: what is simpler to say explains more.
pub const fn cost(fact: Fact) -> u32 {
    match fact {
        Fact::Is(_) | Fact::Number(Axes::Some, _, Relation::Above, 0 | 1) => 0,
        Fact::Number(Axes::Every, _, Relation::AtMost, 0 | 1)
        | Fact::IsNot(_)
        | Fact::Varies(_)
        | Fact::Pair(Axes::Some, _, Relation::Above | Relation::Unequal, _)
        | Fact::Number(_, _, Relation::MultipleOf, _) => 1,
        Fact::Number(_, _, Relation::Equal, _)
        | Fact::Pair(..)
        | Fact::Odd(..)
        | Fact::Even(..)
        | Fact::Uniform(_) => 2,
        Fact::Number(..) => 3,
    }
}

fn about(quantity: Quantity) -> Vec<Fact> {
    let mut facts = Vec::new();
    let thresholds: &[i64] = if quantity == Quantity::Opset { &OPSETS } else { &THRESHOLDS };
    let least = i64::from(!quantity.may_be_zero());
    for &axes in places(quantity) {
        for &number in thresholds.iter().filter(|number| **number >= least) {
            facts.push(Fact::Number(axes, quantity, Relation::Above, number));
            facts.push(Fact::Number(axes, quantity, Relation::AtMost, number));
        }
        if quantity.is_exponent() {
            continue;
        }
        for number in least..=MOST_EQUAL {
            facts.push(Fact::Number(axes, quantity, Relation::Equal, number));
        }
        facts.extend([Fact::Odd(axes, quantity), Fact::Even(axes, quantity)]);
    }
    if quantity.counts_channels() {
        let about = |relation| MULTIPLES.map(|number| Fact::Number(Axes::Some, quantity, relation, number));
        facts.extend([Relation::MultipleOf, Relation::NoMultipleOf].into_iter().flat_map(about));
    }
    if quantity.is_per_axis() {
        facts.extend([Fact::Varies(quantity), Fact::Uniform(quantity)]);
    }
    facts
}

fn between(one: Quantity, other: Quantity) -> Vec<Fact> {
    let mut relations = vec![Relation::Equal, Relation::Unequal, Relation::Above, Relation::AtMost];
    if (one, other) == (Quantity::Kernel, Quantity::Stride) {
        relations.extend([Relation::MultipleOf, Relation::NoMultipleOf]);
    }
    let about = |&axes| relations.iter().map(move |&relation| Fact::Pair(axes, one, relation, other));
    places(one).iter().flat_map(about).collect()
}

/// Where statements about a quantity may hold.
const fn places(quantity: Quantity) -> &'static [Axes] {
    if quantity.is_per_axis() { &[Axes::Some, Axes::Every, Axes::Last] } else { &[Axes::Some] }
}

fn holds(axes: Axes, mut each: impl ExactSizeIterator<Item = bool>) -> bool {
    match axes {
        Axes::Some => each.any(|holds| holds),
        Axes::Every => each.len() > 0 && each.all(|holds| holds),
        Axes::Last => each.last() == Some(true),
    }
}

const fn is(one: i64, relation: Relation, other: i64) -> bool {
    match relation {
        Relation::Equal => one == other,
        Relation::Unequal => one != other,
        Relation::Above => one > other,
        Relation::AtMost => one <= other,
        Relation::MultipleOf => other != 0 && one % other == 0,
        Relation::NoMultipleOf => other != 0 && one % other != 0,
    }
}

#[cfg(test)]
mod tests {
    use twinfer_case::Tally;

    use super::*;

    #[test]
    fn nodes_of_other_operators_are_concerned() {
        let node = |operator: &str, group| DescribedNode {
            operator: operator.to_owned(),
            quantities: BTreeMap::from([(Quantity::Group, vec![group])]),
            ..DescribedNode::default()
        };
        let facts = vec![Fact::Number(Axes::Some, Quantity::Group, Relation::Above, 1)];
        let (operator, tally) = ("Conv".to_owned(), Tally::default());
        let trigger = Trigger { operator, facts, satisfying: tally, missing: tally, shown: None };
        let nodes = [node("Conv", 1), node("Conv", 2), node("Relu", 1)];
        assert_eq!(concerned(&nodes, &trigger), [false, true, true]);
        assert!(satisfies(&nodes, &trigger) && !satisfies(&nodes[..1], &trigger));
    }
}
