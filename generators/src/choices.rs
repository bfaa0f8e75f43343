use std::ops::RangeInclusive;

use rand_pcg::{Pcg64Mcg, rand_core::Rng};

/// The stream of random decisions that one case is made of; equal seeds make equal decisions everywhere.
#[derive(Clone, Debug)]
pub struct Choices(Pcg64Mcg);

impl Choices {
    /// The decisions of the case at `index` of the campaign with this seed.
    ///
    /// The words are mixed, so that neighboring cases share nothing.
    pub fn of_index(seed: u64, index: u64) -> Self {
        let high = mix(seed ^ mix(index));
        let low = mix(high ^ index);
        Self(Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low)))
    }

    /// The seed of a tensor.
    pub fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A uniform number in `range`; its start if it is empty.
    pub fn within(&mut self, range: RangeInclusive<usize>) -> usize {
        range.start() + self.below((range.end() + 1).saturating_sub(*range.start()))
    }

    /// True with a probability of `probability` percent.
    pub fn percent(&mut self, probability: u32) -> bool {
        self.below(100) < probability as usize
    }

    /// One of `options`, with equal probability.
    ///
    /// # Panics
    ///
    /// If `options` is empty.
    pub fn one_of<'a, T>(&mut self, options: &'a [T]) -> &'a T {
        &options[self.below(options.len())]
    }

    /// One of `options`, with equal probability; `None` if there are none.
    pub fn some_of<'a, T>(&mut self, options: &'a [T]) -> Option<&'a T> {
        (!options.is_empty()).then(|| self.one_of(options))
    }

    /// Brings `items` into random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.within(0..=last));
        }
    }
}

/// A bijection of the 64-bit words in which every bit of the input reaches every bit of the output.
const fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighboring_indices_decide_independently() {
        let firsts: Vec<_> = (0..10_000).map(|index| Choices::of_index(1, index).below(10)).collect();
        for digit in 0..10 {
            let count = firsts.iter().filter(|first| **first == digit).count();
            assert!((850..1150).contains(&count), "{digit} came first {count} times");
        }
        let repeats = firsts.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((850..1150).contains(&repeats), "{repeats} neighbors agree");
    }

    #[test]
    fn a_range_is_drawn_to_both_its_ends() {
        let mut choices = Choices::of_index(0, 0);
        let mut drawn: Vec<_> = (0..200).map(|_| choices.within(3..=5)).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, [3, 4, 5]);
    }
}
