//! Sets of small numbers.

/// A set of numbers below a limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bits {
    words: Vec<u64>,
    limit: usize,
}

impl Bits {
    /// The numbers of the items for which `holds`, counted from 0.
    pub fn of<T>(items: impl ExactSizeIterator<Item = T>, holds: impl Fn(T) -> bool) -> Self {
        let limit = items.len();
        let mut words = vec![0; limit.div_ceil(64)];
        for (number, item) in items.enumerate() {
            words[number / 64] |= u64::from(holds(item)) << (number % 64);
        }
        Self { words, limit }
    }

    /// Every number below `limit`.
    pub fn all(limit: usize) -> Self {
        Self::of(0..limit, |_| true)
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The numbers that are in both sets.
    pub fn and(&self, other: &Self) -> Self {
        let words = self.words.iter().zip(&other.words).map(|(one, other)| one & other).collect();
        Self { words, limit: self.limit }
    }

    /// Whether a number from `first` on, `count` of them, is in the set.
    pub fn meets(&self, first: usize, count: usize) -> bool {
        (first..first + count).any(|number| self.words[number / 64] >> (number % 64) & 1 == 1)
    }
}
