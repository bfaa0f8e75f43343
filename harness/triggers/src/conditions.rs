//! Conditions as sets of facts, and how well they tell diverging cases from conforming ones.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashSet},
};

use twinfer_case::Fact;

use crate::{
    DescribedNode,
    bits::Bits,
    described_node::cost,
    evidence::{Evidence, Labels},
};

/// The most facts of a condition.
const MOST_FACTS: usize = 4;

/// Facts that are combined at most: the cheapest of those that say different things.
const MOST_COMBINED: usize = 256;

/// Conditions of one number of facts that are extended by another fact, the shortest ones.
const MOST_STEMS: usize = 64;

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

/// Some facts, all of which hold for one node of each case that diverges, with the exceptions among the cases that ran.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The bits that the facts and their exceptions take.
    pub bits: u32,
    stated: Stated,
}

/// Facts that are stated together.
#[derive(Clone, Debug)]
struct Stated {
    /// The bits that the facts take.
    bits: u32,
    /// The facts, by their places.
    chosen: Vec<usize>,
    /// The nodes for which all facts hold.
    holds: Bits,
}

/// A way to state one more fact, ordered by the bits that the longer condition takes, then by its facts.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Extension {
    bits: u32,
    /// The facts with the new one, by their places in ascending order, as far as `count` says.
    chosen: [usize; MOST_FACTS],
    count: usize,
    /// The new fact.
    place: usize,
    /// The place of the condition that is extended.
    stem: usize,
}

impl Extension {
    fn new(bits: u32, facts: &[usize], place: usize, stem: usize) -> Self {
        let (mut chosen, count) = ([0; MOST_FACTS], facts.len() + 1);
        chosen[..facts.len()].copy_from_slice(facts);
        chosen[facts.len()] = place;
        chosen[..count].sort_unstable();
        Self { bits, chosen, count, place, stem }
    }

    fn chosen(&self) -> &[usize] {
        &self.chosen[..self.count]
    }
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
        self.holds_in(case, &condition.stated.holds)
    }

    /// Whether a case has one of these nodes.
    fn holds_in(&self, case: usize, nodes: &Bits) -> bool {
        let (first, count) = self.cases[case];
        nodes.meets(first, count)
    }

    /// Whether all facts but one of a condition hold for one node of a case, and all of them for none.
    pub fn just_misses(&self, case: usize, condition: &Condition) -> bool {
        let (first, count) = self.cases[case];
        let holds = |fact: &usize, node: usize| self.facts[*fact].1.meets(node, 1);
        let missing = |node: usize| condition.stated.chosen.iter().filter(|fact| !holds(fact, node)).count();
        !condition.stated.chosen.is_empty() && (first..first + count).map(missing).min() == Some(1)
    }

    /// How many of `facts` do not hold for the node of a case for which most hold; `None` if the case has no node.
    pub fn unmet(&self, case: usize, facts: &[Fact]) -> Option<usize> {
        let (first, count) = self.cases[case];
        let unmet = |node: &DescribedNode| facts.iter().filter(|fact| !node.has(**fact)).count();
        self.nodes[first..first + count].iter().map(unmet).min()
    }

    /// The facts of a condition.
    pub fn facts(&self, condition: &Condition) -> Vec<Fact> {
        condition.stated.chosen.iter().map(|&place| self.facts[place].0).collect()
    }

    /// The cases that have most in common with the node that diverges, at most so many: facts that hold for few nodes count for more.
    pub fn nearest(&self, cases: impl Iterator<Item = usize>, most: usize) -> Vec<usize> {
        let nodes = self.nodes.len() as f64;
        let weights: Vec<_> =
            self.facts.iter().map(|(_, holds)| (nodes / holds.count().max(1) as f64).log2()).collect();
        let common = |node: usize| {
            let facts = self.facts.iter().zip(&weights).filter(|((_, holds), _)| holds.meets(node, 1));
            facts.map(|(_, weight)| weight).sum::<f64>()
        };
        let of_case = |case: usize| {
            let (first, count) = self.cases[case];
            (first..first + count).map(common).fold(0.0, f64::max)
        };
        let mut weighed: Vec<_> = cases.map(|case| (of_case(case), case)).collect();
        weighed.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        weighed.into_iter().take(most).map(|(_, case)| case).collect()
    }

    /// The shortest descriptions of which cases diverge, the shortest first: those within `margin` bits of it. Conditions of two facts
    /// and of three are made from the shortest of one fact less.
    pub fn shortest(&self, labels: &Labels, margin: u32) -> Vec<Condition> {
        let evidence = Evidence::new(labels, &self.cases, self.facts.iter().map(|(_, holds)| holds));
        let always = Stated { bits: 0, chosen: Vec::new(), holds: Bits::all(self.nodes.len()) };
        let mut stems = vec![Condition { bits: evidence.exceptions(&evidence.nodes(&[])), stated: always }];
        let mut found = stems.clone();
        for _ in 0..MOST_FACTS {
            stems = self.longer(&stems, &evidence);
            found.extend_from_slice(&stems);
        }
        found.sort_by(|one, other| (one.bits, &one.stated.chosen).cmp(&(other.bits, &other.stated.chosen)));
        let limit = found.first().map_or(0, |shortest| shortest.bits).saturating_add(margin);
        found.retain(|condition| condition.bits <= limit);
        found
    }

    /// The shortest conditions of one fact more than `stems`, which have equally many; none with a fact that excludes no node.
    fn longer(&self, stems: &[Condition], evidence: &Evidence) -> Vec<Condition> {
        let mut extensions: BinaryHeap<_> = stems
            .iter()
            .enumerate()
            .flat_map(|(stem, condition)| self.extensions(stem, condition, evidence))
            .collect();
        let mut longer: Vec<Condition> = Vec::new();
        while longer.len() < MOST_STEMS
            && let Some(Reverse(extension)) = extensions.pop()
        {
            let is_new = longer.iter().all(|condition| condition.stated.chosen != extension.chosen());
            if is_new {
                longer.extend(self.extended(&stems[extension.stem].stated, &extension));
            }
        }
        longer
    }

    /// The ways to add a fact to the condition at the place `stem`.
    fn extensions<'a>(
        &'a self,
        stem: usize,
        condition: &'a Condition,
        evidence: &'a Evidence,
    ) -> impl Iterator<Item = Reverse<Extension>> + 'a {
        let chosen = &condition.stated.chosen;
        let nodes = evidence.nodes(chosen);
        let others = (0..self.facts.len()).filter(|place| !chosen.contains(place));
        others.map(move |place| {
            let stated = self.bits_with(&condition.stated, place);
            let bits = stated + evidence.exceptions_with(&nodes, place);
            Reverse(Extension::new(bits, chosen, place, stem))
        })
    }

    /// The extended condition, unless the new fact excludes no node.
    fn extended(&self, stated: &Stated, extension: &Extension) -> Option<Condition> {
        let holds = stated.holds.and(&self.facts[extension.place].1);
        (holds.count() < stated.holds.count()).then(|| Condition {
            bits: extension.bits,
            stated: Stated {
                bits: self.bits_with(stated, extension.place),
                chosen: extension.chosen().to_vec(),
                holds,
            },
        })
    }

    /// The bits that a statement takes with one more fact.
    fn bits_with(&self, stated: &Stated, place: usize) -> u32 {
        stated.bits + self.choice + cost(self.facts[place].0)
    }
}
