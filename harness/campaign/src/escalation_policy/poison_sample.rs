use std::num::NonZeroU64;

use twinfer_case::{CaseHash, PoisonPattern, VariantInfo};

/// The cases that also run with poisoned memory, by their hash, each with one of the patterns.
pub struct PoisonSample {
    /// One case in this many.
    every: NonZeroU64,
    /// The poisoned rungs, as indices of variants, with their patterns.
    rungs: Vec<(usize, PoisonPattern)>,
}

impl PoisonSample {
    /// A sample of one case in `every`, on those of `variants` that are poisoned rungs.
    pub fn new(every: NonZeroU64, variants: &[VariantInfo]) -> Self {
        let pattern = |info: &VariantInfo| info.variant.poison_of(info.rung_of.as_ref()?);
        let rungs = variants.iter().enumerate();
        Self { every, rungs: rungs.filter_map(|(place, info)| Some((place, pattern(info)?))).collect() }
    }

    /// The rungs on which a case runs.
    pub fn rungs(&self, case: CaseHash) -> impl Iterator<Item = usize> {
        let (number, every) = (case.number(), self.every.get());
        let patterns = PoisonPattern::ALL;
        let drawn = patterns[(number / every % patterns.len() as u64) as usize];
        let is_drawn =
            move |(_, pattern): &&(usize, PoisonPattern)| number.is_multiple_of(every) && *pattern == drawn;
        self.rungs.iter().filter(is_drawn).map(|(place, _)| *place)
    }

    /// Whether a variant is a poisoned rung.
    pub fn contains(&self, rung: usize) -> bool {
        self.rungs.iter().any(|(place, _)| *place == rung)
    }
}
