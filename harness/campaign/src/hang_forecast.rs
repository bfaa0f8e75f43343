//! The *forecast* of hangs: which cases a variant leaves out, because earlier ones hung under a condition that they satisfy.
//!
//! Cases come in *blocks*. What the cases of a block came to is learned when all of them have verdicts, and applies to later blocks alone, so
//! that with a budget of cases it depends on nothing else which cases run. With a budget of time it applies at once.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    mem,
    sync::{OnceLock, PoisonError, RwLock},
};

use twinfer_case::{Budget, Case, CaseHash, CaseRecord, Outcome, Shard, Trigger, VariantRecord};
use twinfer_triage::{FEWEST_HANGS, RanCase, hang_conditions, predicted_hang};

use crate::{CaseSource, Options};

/// How many cases of a shard are a block.
const BLOCK: u64 = 256;

/// Of the cases that are predicted to hang, one in this many runs all the same, by its hash: a prediction that is wrong shows.
const RUN_EVERY: u64 = 16;

/// Hangs that suffice for cases of later blocks to wait, which changes nothing about them.
const FEWEST_TO_WAIT: u64 = 3;

/// The latest cases of each variant from which conditions are learned: those that hung, and others.
const MOST_HANGS: usize = 256;
const MOST_OTHERS: usize = 1024;

/// What is known of a case before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// By variant, the condition for which it leaves the case out; `None` if the case runs. That is final.
    Final(Vec<Option<String>>),
    /// It runs, unless what earlier blocks come to predicts a hang.
    Runs,
    /// It is predicted to hang, unless what earlier blocks come to refutes that.
    Waits,
}

/// Which cases hang, as far as that is known.
pub struct HangForecast {
    source: CaseSource,
    /// `i` of `n`: the shard of the campaign.
    shard: Shard,
    timing: Timing,
    learned: RwLock<Learned>,
}

/// When what is learned applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timing {
    /// From the next block on.
    InBlocks,
    AtOnce,
    Never,
}

/// What the cases so far came to.
struct Learned {
    /// The blocks before this one are learned.
    block: u64,
    /// Cases of later blocks, by their index in the campaign.
    later: BTreeMap<u64, Ended>,
    /// By variant that runs every case.
    variants: Vec<OfVariant>,
}

/// What a case came to, by variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Hung,
    Other,
    LeftOut,
}

type Ended = Vec<End>;

/// What the cases of a variant came to.
#[derive(Default)]
struct OfVariant {
    /// The latest cases that hung, and the latest others.
    hung: VecDeque<Ran>,
    others: VecDeque<Ran>,
    /// The conditions under which cases hang, each time that they changed, with the block from which they apply.
    conditions: Vec<(u64, Vec<Trigger>)>,
    /// The conditions under which cases hang as far as the blocks tell that are not complete.
    expected: Vec<Trigger>,
}

/// A case that a variant ran.
struct Ran {
    /// Its index in the campaign.
    index: u64,
    /// What it is like, once that is needed.
    described: OnceLock<RanCase>,
}

impl HangForecast {
    /// The forecast of a campaign with these options and this many variants that run every case.
    pub fn new(source: CaseSource, options: &Options, variants: usize) -> Self {
        let timing = match options.budget {
            _ if options.run_hangs => Timing::Never,
            Budget::Cases(_) => Timing::InBlocks,
            Budget::Seconds(_) => Timing::AtOnce,
        };
        let variants = std::iter::repeat_with(OfVariant::default).take(variants).collect();
        let learned = Learned { block: 0, later: BTreeMap::new(), variants };
        Self { source, shard: options.shard, timing, learned: RwLock::new(learned) }
    }

    /// What is known of the case at `index`, before it runs.
    pub fn outlook(&self, index: u64, case: &Case, hash: CaseHash) -> Outlook {
        let learned = self.learned();
        let block = self.block_of(index);
        let conditions = learned.left_out(block, case, hash);
        if self.timing != Timing::InBlocks || block <= learned.block {
            Outlook::Final(conditions)
        } else if conditions.iter().any(Option::is_some) || learned.is_expected(case, hash) {
            Outlook::Waits
        } else {
            Outlook::Runs
        }
    }

    /// Which variants leave out the case of `record`, which ran before that was known, by the conditions for which they do.
    pub fn left_out(&self, record: &CaseRecord) -> Vec<Option<String>> {
        let (learned, block) = (self.learned(), self.block_of(record.index));
        if learned.conditions(block).all(<[_]>::is_empty) {
            return vec![None; learned.variants.len()];
        }
        learned.left_out(block, &(self.source)(record.index), record.case)
    }

    /// Whether it is known which variants leave out the case at `index`.
    pub fn is_final(&self, index: u64) -> bool {
        self.timing != Timing::InBlocks || self.block_of(index) <= self.learned().block
    }

    /// Whether it is known that no variant leaves out the case at `index`, although so many cases of earlier blocks have no verdict: too few
    /// have hung, even if all of those did.
    pub fn is_free(&self, index: u64, unsettled: impl FnOnce(u64) -> u64) -> bool {
        let learned = self.learned();
        let is_unconditional = learned.variants.iter().all(|variant| variant.conditions.is_empty());
        is_unconditional
            && learned.most_hangs() + unsettled(self.start_of(self.block_of(index))) < FEWEST_HANGS
    }

    /// Adds what a case came to.
    pub fn add(&self, record: &CaseRecord) {
        if self.timing == Timing::Never {
            return;
        }
        let mut learned = self.learned.write().unwrap_or_else(PoisonError::into_inner);
        let count = learned.variants.len();
        let ended: Ended = record.variants.iter().take(count).map(End::of).collect();
        let has_hung = ended.contains(&End::Hung);
        learned.later.insert(record.index, ended);
        if self.timing == Timing::AtOnce {
            learned.learn(u64::MAX, 0, &self.source);
        } else if has_hung {
            learned.expect(&self.source);
        }
    }

    /// Learns from a block all of whose cases have verdicts, as every case before `end` has; whether there was one.
    pub fn learn_block_before(&self, end: u64) -> bool {
        let block = self.learned().block;
        if self.timing != Timing::InBlocks || self.block_of(end) <= block {
            return false;
        }
        let end = self.start_of(block + 1);
        self.learned.write().unwrap_or_else(PoisonError::into_inner).learn(end, block + 1, &self.source);
        true
    }

    fn learned(&self) -> std::sync::RwLockReadGuard<'_, Learned> {
        self.learned.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The index in the campaign of the first case of a block.
    fn start_of(&self, block: u64) -> u64 {
        self.shard.case_at(block.saturating_mul(BLOCK))
    }

    fn block_of(&self, index: u64) -> u64 {
        self.shard.number_of(index) / BLOCK
    }
}

impl Learned {
    /// By variant, the conditions that are known in a block.
    fn conditions(&self, block: u64) -> impl Iterator<Item = &[Trigger]> {
        self.variants.iter().map(move |variant| variant.conditions_in(block))
    }

    /// By variant, the condition for which it leaves `case` out.
    fn left_out(&self, block: u64, case: &Case, hash: CaseHash) -> Vec<Option<String>> {
        let runs_anyway = hash.number().is_multiple_of(RUN_EVERY);
        let condition = |conditions: &[Trigger]| {
            let predicted = predicted_hang(conditions, case).filter(|_| !runs_anyway);
            predicted.map(Trigger::condition)
        };
        self.conditions(block).map(condition).collect()
    }

    /// Whether blocks that are not complete make it likely that `case` will be left out.
    fn is_expected(&self, case: &Case, hash: CaseHash) -> bool {
        let mut expected = self.variants.iter().map(|variant| &variant.expected);
        !hash.number().is_multiple_of(RUN_EVERY)
            && expected.any(|conditions| predicted_hang(conditions, case).is_some())
    }

    /// Learns what the blocks that are not complete make likely.
    fn expect(&mut self, source: &CaseSource) {
        for (place, variant) in self.variants.iter_mut().enumerate() {
            let later = self.later.iter().filter_map(|(index, ended)| Some((*index, *ended.get(place)?)));
            variant.expect(later, source);
        }
    }

    /// The hangs of the variant that has most.
    fn most_hangs(&self) -> u64 {
        let later =
            |place: usize| self.later.values().filter(|ended| ended.get(place) == Some(&End::Hung)).count();
        let hangs =
            self.variants.iter().enumerate().map(|(place, variant)| variant.hung.len() + later(place));
        hangs.max().unwrap_or(0) as u64
    }

    /// Learns from the cases before `end`. What they teach applies from `block` on.
    fn learn(&mut self, end: u64, block: u64, source: &CaseSource) {
        let later = self.later.split_off(&end);
        let ended = mem::replace(&mut self.later, later);
        for (place, variant) in self.variants.iter_mut().enumerate() {
            let of_variant = ended.iter().filter_map(|(index, ended)| Some((*index, *ended.get(place)?)));
            if variant.add(of_variant, source) {
                variant.learn(block, source);
            }
        }
        self.block = block;
    }
}

impl OfVariant {
    fn conditions_in(&self, block: u64) -> &[Trigger] {
        let mut known = self.conditions.iter().rev();
        known.find(|(from, _)| *from <= block).map_or(&[], |(_, conditions)| conditions)
    }

    /// Adds cases; whether one of them hung, or did not although the conditions predict it.
    fn add(&mut self, cases: impl Iterator<Item = (u64, End)>, source: &CaseSource) -> bool {
        let mut is_news = false;
        for (index, end) in cases {
            match end {
                End::Hung => push(&mut self.hung, Ran::new(index), MOST_HANGS),
                End::Other => push(&mut self.others, Ran::new(index), MOST_OTHERS),
                End::LeftOut => {}
            }
            is_news |= end == End::Hung || end == End::Other && self.is_predicted(index, source);
        }
        is_news
    }

    /// Whether the case at `index` is predicted to hang by what is known last.
    fn is_predicted(&self, index: u64, source: &CaseSource) -> bool {
        let conditions = self.conditions_in(u64::MAX);
        !conditions.is_empty() && predicted_hang(conditions, &source(index)).is_some()
    }

    /// Learns what `later` cases make likely beside those of complete blocks.
    fn expect(&mut self, later: impl Iterator<Item = (u64, End)>, source: &CaseSource) {
        let later: Vec<_> = later.filter(|(_, end)| *end != End::LeftOut).collect();
        let first = later.len().saturating_sub(MOST_OTHERS);
        let later =
            later[first..].iter().map(|(index, end)| RanCase::new(&source(*index), *end == End::Hung));
        let later: Vec<_> = later.collect();
        let hung = self.hung.iter().map(|ran| ran.describe(true, source));
        let others = self.others.iter().map(|ran| ran.describe(false, source));
        let ran: Vec<_> = hung.chain(others).chain(&later).collect();
        self.expected = hang_conditions(&ran, FEWEST_TO_WAIT);
    }

    fn learn(&mut self, block: u64, source: &CaseSource) {
        let hung = self.hung.iter().map(|ran| ran.describe(true, source));
        let others = self.others.iter().map(|ran| ran.describe(false, source));
        let conditions = hang_conditions(&hung.chain(others).collect::<Vec<_>>(), FEWEST_HANGS);
        self.expected.clear();
        if self.conditions_in(block) != conditions {
            self.conditions.retain(|(from, _)| *from < block);
            self.conditions.push((block, conditions));
        }
    }
}

impl End {
    fn of(record: &VariantRecord) -> Self {
        match record.outcome {
            _ if !record.has_run() => Self::LeftOut,
            Some(Outcome::TimedOut) => Self::Hung,
            _ => Self::Other,
        }
    }
}

impl Ran {
    const fn new(index: u64) -> Self {
        Self { index, described: OnceLock::new() }
    }

    fn describe(&self, hung: bool, source: &CaseSource) -> &RanCase {
        self.described.get_or_init(|| RanCase::new(&source(self.index), hung))
    }
}

/// Adds a case behind the others, of which the latest are kept.
fn push(cases: &mut VecDeque<Ran>, case: Ran, most: usize) {
    cases.push_back(case);
    if cases.len() > most {
        cases.pop_front();
    }
}
