use std::collections::BTreeMap;

use crossbeam_channel::Sender;
use twinfer_workers::Observed;

use crate::stages::{ExecutedCase, PreparedCase};

/// Cases that are being run. One that has its reference and every observation goes to the judges.
pub struct PendingCases {
    by_index: BTreeMap<u64, Pending>,
    /// How many variants run every case.
    variants: usize,
    judges: Sender<ExecutedCase>,
}

/// What has arrived of a case.
#[derive(Default)]
struct Pending {
    prepared: Option<PreparedCase>,
    /// By variant: the observation, and that of the second run.
    observed: Vec<(Option<Observed>, Option<Observed>)>,
}

impl PendingCases {
    pub const fn new(variants: usize, judges: Sender<ExecutedCase>) -> Self {
        Self { by_index: BTreeMap::new(), variants, judges }
    }

    /// Adds a case with its reference.
    pub fn add_prepared(&mut self, case: PreparedCase) {
        let index = case.index;
        self.by_index.entry(index).or_default().prepared = Some(case);
        self.judge_if_complete(index);
    }

    /// Adds what one variant did with a case.
    pub fn add_observed(&mut self, observed: Observed) {
        let index = observed.index;
        let pending = self.by_index.entry(index).or_default();
        pending.observed.resize_with(self.variants, Default::default);
        let (first, repeat) = &mut pending.observed[observed.variant];
        let place = if observed.repeat { repeat } else { first };
        *place = Some(observed);
        self.judge_if_complete(index);
    }

    fn judge_if_complete(&mut self, index: u64) {
        if self.by_index.get(&index).is_some_and(Pending::is_complete)
            && let Some(complete) = self.by_index.remove(&index).and_then(Pending::complete)
        {
            // judges that have ended have sent why
            let _ = self.judges.send(complete);
        }
    }
}

impl Pending {
    fn is_complete(&self) -> bool {
        let Some(prepared) = &self.prepared else { return false };
        let is_there = |(place, condition): (usize, &Option<String>)| {
            let (first, repeat) = self.observed.get(place).unwrap_or(&(None, None));
            condition.is_some() || first.is_some() && (repeat.is_some() || !prepared.repeated)
        };
        prepared.left_out.iter().enumerate().all(is_there)
    }

    fn complete(self) -> Option<ExecutedCase> {
        let observed = self.observed.into_iter().filter_map(|(first, repeat)| Some((first?, repeat)));
        Some(ExecutedCase { prepared: self.prepared?, observed: observed.collect() })
    }
}
