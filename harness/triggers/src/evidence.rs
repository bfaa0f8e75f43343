//! What the cases that ran say of conditions.

use crate::bits::Bits;

/// What a diverging case adds to the description if it does not satisfy the condition, in bits.
const UNEXPECTED: u32 = 12;

/// What a conforming case adds to the description if it satisfies the condition: less, since what is wrong may not reach an output.
const HIDDEN: u32 = 6;

/// The bits that say how often cases diverge that satisfy a condition, if each conforming one is no exception: the error depends on what is
/// no fact, such as values.
const RATE: u32 = 24;

/// Cases that ran, by their places.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    pub diverging: Vec<usize>,
    pub conforming: Vec<usize>,
}

/// Which facts hold for which nodes of the cases that ran.
///
/// A set of nodes is a number of *planes*, one after the other: the first has a bit for the first node of each case, the second for its second
/// node, and so on. Diverging and conforming cases have words of their own in each plane.
pub struct Evidence {
    /// The nodes for which each fact holds.
    facts: Vec<Vec<u64>>,
    /// All nodes.
    nodes: Vec<u64>,
    /// The words of a plane, and how many of them are for diverging cases.
    words: usize,
    diverging_words: usize,
    /// The diverging cases.
    diverging: u32,
    /// The logarithms, to base 2, of the factorials from 0 on.
    factorials: Vec<f64>,
}

/// A node of a case that ran, by its place among all nodes and by its bit.
struct Place {
    node: usize,
    word: usize,
    bit: u32,
}

impl Evidence {
    /// What the cases in `labels` say. `cases` has the first node of each case, and how many it has; `facts` has the nodes for which each holds.
    pub fn new<'a>(labels: &Labels, cases: &[(usize, usize)], facts: impl Iterator<Item = &'a Bits>) -> Self {
        let diverging_words = labels.diverging.len().div_ceil(64);
        let words = diverging_words + labels.conforming.len().div_ceil(64);
        let conforming =
            labels.conforming.iter().enumerate().map(|(bit, case)| (64 * diverging_words + bit, case));
        let ran = labels.diverging.iter().enumerate().chain(conforming);
        let places: Vec<_> = ran
            .flat_map(|(bit, &case)| {
                let (first, count) = cases[case];
                (0..count).map(move |plane| Place {
                    node: first + plane,
                    word: plane * words + bit / 64,
                    bit: (bit % 64) as u32,
                })
            })
            .collect();
        let length = places.iter().map(|place| place.word / words + 1).max().unwrap_or(0) * words;
        let set = |is_member: &dyn Fn(usize) -> bool| {
            let mut set = vec![0; length];
            for place in &places {
                set[place.word] |= u64::from(is_member(place.node)) << place.bit;
            }
            set
        };
        Self {
            facts: facts.map(|holds| set(&|node| holds.meets(node, 1))).collect(),
            nodes: set(&|_| true),
            words,
            diverging_words,
            diverging: labels.diverging.len() as u32,
            factorials: factorials(labels.diverging.len() + labels.conforming.len()),
        }
    }

    /// The nodes for which all of some facts hold.
    pub fn nodes(&self, facts: &[usize]) -> Vec<u64> {
        let mut nodes = self.nodes.clone();
        for &fact in facts {
            nodes.iter_mut().zip(&self.facts[fact]).for_each(|(word, fact)| *word &= fact);
        }
        nodes
    }

    /// The bits that say which cases diverge, if it is known which of them have one of these nodes.
    pub fn exceptions(&self, nodes: &[u64]) -> u32 {
        self.exceptions_of(|word| nodes[word])
    }

    /// The same for those of the nodes for which one more fact holds.
    pub fn exceptions_with(&self, nodes: &[u64], fact: usize) -> u32 {
        let fact = &self.facts[fact];
        self.exceptions_of(|word| nodes[word] & fact[word])
    }

    fn exceptions_of(&self, nodes: impl Fn(usize) -> u64) -> u32 {
        let cases = |word: usize| {
            (word..self.nodes.len())
                .step_by(self.words)
                .fold(0, |cases, word| cases | nodes(word))
                .count_ones()
        };
        let diverging: u32 = (0..self.diverging_words).map(cases).sum();
        let conforming: u32 = (self.diverging_words..self.words).map(cases).sum();
        UNEXPECTED * (self.diverging - diverging) + self.exceptions_among(diverging, conforming)
    }

    /// The bits that say which of the cases that satisfy a condition diverge.
    fn exceptions_among(&self, diverging: u32, conforming: u32) -> u32 {
        let each = HIDDEN * conforming;
        if each <= RATE {
            each
        } else {
            each.min(RATE + self.choice(diverging as usize, conforming as usize))
        }
    }

    /// The bits that say which of some cases diverge, if it is known how many.
    fn choice(&self, diverging: usize, conforming: usize) -> u32 {
        let factorials = &self.factorials;
        (factorials[diverging + conforming] - factorials[diverging] - factorials[conforming]).round() as u32
    }
}

/// The logarithms, to base 2, of the factorials of 0 to `last`.
fn factorials(last: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let rest = (1..=last).map(|factor| {
        sum += (factor as f64).log2();
        sum
    });
    std::iter::once(0.0).chain(rest).collect()
}
