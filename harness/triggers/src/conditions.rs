//! Conditions as sets of facts, and how well they tell diverging cases from conforming ones.

use std::collections::HashSet;

use twinfer_case::Fact;

use crate::{DescribedNode, bits::Bits, described_node::cost};

/// The most facts of a condition.
const MOST_FACTS: usize = 3;

/// Facts that are combined at most: the cheapest of those that say different things.
const MOST_COMBINED: usize = 256;

/// What a diverging case adds to the description if it does not satisfy the condition, in bits.
const UNEXPECTED: u32 = 12;

/// What a conforming case adds to the description if it satisfies the condition: less, since what is wrong may not reach an output.
const HIDDEN: u32 = 6;

/// Cases by their nodes of one operator, and what holds for these.
#[derive(Clone, Debug)]
pub struct Population {
    nodes: Vec<DescribedNode>,
    /// The first node of each case, and how many it has.
    cases: Vec<(usize, usize)>,
    /// Facts of the node that diverges, each with the nodes for which it holds. No two of them hold for the same nodes.
    facts: Vec<(Fact, Bits)>,
    /// The bits that choose one of the facts.
    choice: u32,
}

/// Some facts, all of which hold for one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The bits that it takes to state the facts, and the cases about which they are wrong.
    pub bits: u32,
    /// The facts, by their places.
    chosen: Vec<usize>,
    /// The nodes for which all facts hold.
    holds: Bits,
}

/// Cases that ran, by their places.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    pub diverging: Vec<usize>,
    pub conforming: Vec<usize>,
}

impl Population {
    /// The `cases`, as far as they have nodes of the operator of `minimal`, which diverges.
    pub fn new(minimal: &DescribedNode, cases: &[Vec<DescribedNode>]) -> Self {
        let (mut nodes, mut places) = (Vec::new(), Vec::new());
        for case in cases {
            let first = nodes.len();
            nodes.extend(case.iter().filter(|node| node.operator == minimal.operator).cloned());
            places.push((first, nodes.len() - first));
        }
        let (mut facts, mut seen) = (Vec::new(), HashSet::from([Bits::all(nodes.len())]));
        for fact in minimal.facts() {
            let holds = Bits::of(nodes.iter(), |node| node.has(fact));
            if seen.insert(holds.clone()) {
                facts.push((fact, holds));
            }
        }
        facts.truncate(MOST_COMBINED);
        let choice = usize::BITS - facts.len().leading_zeros();
        Self { nodes, cases: places, facts, choice }
    }

    /// The cases that have nodes of the operator.
    pub fn cases(&self) -> impl Iterator<Item = usize> {
        self.cases.iter().enumerate().filter(|(_, (_, count))| *count > 0).map(|(place, _)| place)
    }

    /// Whether all facts of a condition hold for one node of a case.
    pub fn satisfies(&self, case: usize, condition: &Condition) -> bool {
        let (first, count) = self.cases[case];
        condition.holds.meets(first, count)
    }

    /// Whether all facts but one of a condition hold for one node of a case, and all of them for none.
    pub fn just_misses(&self, case: usize, condition: &Condition) -> bool {
        let (first, count) = self.cases[case];
        let holds = |fact: &usize, node: usize| self.facts[*fact].1.meets(node, 1);
        let missing = |node: usize| condition.chosen.iter().filter(|fact| !holds(fact, node)).count();
        !condition.chosen.is_empty() && (first..first + count).map(missing).min() == Some(1)
    }

    /// The facts of a condition.
    pub fn facts(&self, condition: &Condition) -> Vec<Fact> {
        condition.chosen.iter().map(|&place| self.facts[place].0).collect()
    }

    /// The shortest descriptions of which cases diverge, the shortest first: those within `margin` bits of it.
    pub fn shortest(&self, labels: &Labels, margin: u32) -> Vec<Condition> {
        let mut search = Search { population: self, labels, margin, shortest: u32::MAX, found: Vec::new() };
        search.extend(&Condition { bits: 0, chosen: Vec::new(), holds: Bits::all(self.nodes.len()) });
        let Search { shortest, mut found, .. } = search;
        found.retain(|condition| condition.bits <= shortest.saturating_add(margin));
        found.sort_by(|one, other| (one.bits, &one.chosen).cmp(&(other.bits, &other.chosen)));
        found
    }
}

/// A search through all conditions of few facts.
struct Search<'a> {
    population: &'a Population,
    labels: &'a Labels,
    margin: u32,
    shortest: u32,
    found: Vec<Condition>,
}

impl Search<'_> {
    /// Weighs the condition of `stem`, whose bits state its facts, and those with further facts.
    fn extend(&mut self, stem: &Condition) {
        let count = |cases: &[usize], satisfied: bool| {
            let is_counted = |case: &&usize| self.population.satisfies(**case, stem) == satisfied;
            cases.iter().filter(is_counted).count() as u32
        };
        // further facts exclude further cases
        let least = stem.bits + UNEXPECTED * count(&self.labels.diverging, false);
        if least > self.shortest.saturating_add(self.margin) {
            return;
        }
        let bits = least + HIDDEN * count(&self.labels.conforming, true);
        self.shortest = self.shortest.min(bits);
        if bits <= self.shortest.saturating_add(self.margin) {
            self.found.push(Condition { bits, ..stem.clone() });
        }
        if stem.chosen.len() == MOST_FACTS {
            return;
        }
        let first = stem.chosen.last().map_or(0, |last| last + 1);
        for (place, (fact, of_fact)) in self.population.facts.iter().enumerate().skip(first) {
            let holds = stem.holds.and(of_fact);
            // a fact that excludes nothing says nothing
            if holds.count() < stem.holds.count() {
                let bits = stem.bits + self.population.choice + cost(*fact);
                let chosen = stem.chosen.iter().copied().chain([place]).collect();
                self.extend(&Condition { bits, chosen, holds });
            }
        }
    }
}
