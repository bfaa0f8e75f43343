//! The *forecast* of hangs: which cases a variant leaves out, because earlier ones hung under a condition that they satisfy.
//!
//! Cases come in *blocks*. What the cases of a block came to is learned when all of them have verdicts, and applies to later blocks alone, so
//! that with a budget of cases it depends on nothing else which cases run. With a budget of time it applies at once.

use std::{
    collections::{BTreeMap, VecDeque},
    mem,
    sync::{PoisonError, RwLock},
};

use twinfer_case::{Budget, Case, CaseHash, CaseRecord, Outcome, Trigger, VariantRecord};
use twinfer_triage::{RanCase, hang_conditions, predicted_hang};

use crate::CaseSource;

/// How many cases of a shard are a block.
const BLOCK: u64 = 256;

/// Of the cases that are predicted to hang, one in this many runs all the same, by its hash: a prediction that is wrong shows.
const RUN_EVERY: u64 = 16;

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
    shard: (u64, u64),
    /// Whether what is learned applies from the next block on.
    is_in_blocks: bool,
    learned: RwLock<Learned>,
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
    /// The latest cases that hung, and the latest others, by their index in the campaign.
    hung: VecDeque<u64>,
    others: VecDeque<u64>,
    /// The conditions under which cases hang, each time that they changed, with the block from which they apply.
    conditions: Vec<(u64, Vec<Trigger>)>,
}

impl HangForecast {
    /// The forecast of a campaign with this many variants that run every case.
    pub fn new(source: CaseSource, budget: Budget, shard: (u64, u64), variants: usize) -> Self {
        let is_in_blocks = matches!(budget, Budget::Cases(_));
        let variants = std::iter::repeat_with(OfVariant::default).take(variants).collect();
        let learned = Learned { block: 0, later: BTreeMap::new(), variants };
        Self { source, shard, is_in_blocks, learned: RwLock::new(learned) }
    }

    /// What is known of the case at `index`, before it runs.
    pub fn outlook(&self, index: u64, case: &Case, hash: CaseHash) -> Outlook {
        let learned = self.learned();
        let block = self.block_of(index);
        let conditions = learned.left_out(block, case, hash);
        if !self.is_in_blocks || block <= learned.block {
            Outlook::Final(conditions)
        } else if conditions.iter().any(Option::is_some) {
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
        !self.is_in_blocks || self.block_of(index) <= self.learned().block
    }

    /// Adds what a case came to.
    pub fn add(&self, record: &CaseRecord) {
        let mut learned = self.learned.write().unwrap_or_else(PoisonError::into_inner);
        let count = learned.variants.len();
        let ended: Ended = record.variants.iter().take(count).map(End::of).collect();
        learned.later.insert(record.index, ended);
        if !self.is_in_blocks {
            learned.learn(u64::MAX, 0, &self.source);
        }
    }

    /// Learns from a block all of whose cases have verdicts, as every case before `end` has; whether there was one.
    pub fn learn_block_before(&self, end: u64) -> bool {
        let block = self.learned().block;
        if !self.is_in_blocks || self.block_of(end) <= block {
            return false;
        }
        let (first, shards) = self.shard;
        let end = first.saturating_add((block + 1).saturating_mul(BLOCK).saturating_mul(shards));
        self.learned.write().unwrap_or_else(PoisonError::into_inner).learn(end, block + 1, &self.source);
        true
    }

    fn learned(&self) -> std::sync::RwLockReadGuard<'_, Learned> {
        self.learned.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn block_of(&self, index: u64) -> u64 {
        let (first, shards) = self.shard;
        index.saturating_sub(first) / shards.max(1) / BLOCK
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
                End::Hung => push(&mut self.hung, index, MOST_HANGS),
                End::Other => push(&mut self.others, index, MOST_OTHERS),
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

    fn learn(&mut self, block: u64, source: &CaseSource) {
        let hung = self.hung.iter().map(|index| RanCase::new(&source(*index), true));
        let others = self.others.iter().map(|index| RanCase::new(&source(*index), false));
        let conditions = hang_conditions(&hung.chain(others).collect::<Vec<_>>());
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

/// Adds an index behind the others, of which the latest are kept.
fn push(indices: &mut VecDeque<u64>, index: u64, most: usize) {
    indices.push_back(index);
    if indices.len() > most {
        indices.pop_front();
    }
}
