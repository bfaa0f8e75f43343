//! *Inside*: repeats of a case that is wrong only inside, where its outputs do not show it. Each judges the segments of the case again, in the
//! workers of one circumstance.

use std::iter;

use twinfer_case::{Circumstance, Observation, PoisonPattern, Task};
use twinfer_workers::{FreshWorker, TriageWorkers, WorkerError};

use crate::{
    TriageError,
    diverging_case::DivergingCase,
    repeats::{Repeater, Repeats},
    scrutiny::Scrutiny,
};

/// Rounds in workers that have run nothing, in workers that have run a case before, and with memory filled with each pattern.
const FRESH: usize = 2;
const WARM: usize = 4;
const FILLED: usize = 2;

impl Repeater<'_> {
    /// Judges the segments of a case ten times more. Where no worker with filled memory starts any more within a round, the rest of the round
    /// runs without. `None` if the investigation was canceled.
    pub(crate) fn repeat_inside(&self, diverging: &DivergingCase) -> Result<Option<Repeats>, TriageError> {
        let case = &diverging.evaluated;
        let mut repeats = Repeats::none(diverging.symptom.kind());
        for circumstance in circumstances(FRESH, WARM, FILLED) {
            if self.cancellation.is_canceled() {
                return Ok(None);
            }
            let mut round = Round::new(self.workers, circumstance);
            let Some(observation) = round.observe(&case.encoded.task)? else { continue };
            let info = self.workers.confirming_info();
            let mut evaluated = case.with(info, observation);
            let mut again = |task: &Task| round.observe_again(task);
            Scrutiny::Rounded.examine(info, &mut evaluated, &mut again)?;
            repeats.push(circumstance, evaluated);
        }
        Ok(Some(repeats))
    }
}

/// The circumstances of so many rounds, `filled` of them with each filling.
pub fn circumstances(fresh: usize, warm: usize, filled: usize) -> impl Iterator<Item = Circumstance> {
    let with_filling = iter::repeat_n(PoisonPattern::ALL.map(Circumstance::from), filled).flatten();
    let without = iter::repeat_n(Circumstance::Fresh, fresh).chain(iter::repeat_n(Circumstance::Warm, warm));
    without.chain(with_filling)
}

/// A *round*: the tasks that judge one case, each in a worker of the same circumstance. In a fresh round, one worker runs them all, and had
/// run nothing before.
pub struct Round<'a> {
    workers: &'a TriageWorkers,
    circumstance: Circumstance,
    fresh: FreshWorker<'a>,
}

impl<'a> Round<'a> {
    /// A round in `workers`.
    pub const fn new(workers: &'a TriageWorkers, circumstance: Circumstance) -> Self {
        Self { workers, circumstance, fresh: workers.fresh() }
    }

    /// What a variant does with a task; `None` if no worker starts with memory filled. Such a worker may have run other tasks.
    pub fn observe(&mut self, task: &Task) -> Result<Option<Observation>, WorkerError> {
        match self.circumstance {
            Circumstance::Fresh => self.fresh.observe(task).map(Some),
            Circumstance::Warm | Circumstance::Campaign => self.workers.observe_warm(task).map(Some),
            Circumstance::FilledNan => self.observe_filled(PoisonPattern::Nan, task),
            Circumstance::FilledLarge => self.observe_filled(PoisonPattern::Large, task),
        }
    }

    /// As [`observe`](Self::observe), in a fresh worker if no worker starts with memory filled.
    pub fn observe_again(&mut self, task: &Task) -> Result<Observation, WorkerError> {
        self.observe(task)?.map_or_else(|| self.workers.observe_fresh(task), Ok)
    }

    fn observe_filled(
        &self,
        pattern: PoisonPattern,
        task: &Task,
    ) -> Result<Option<Observation>, WorkerError> {
        let mut runs = self.workers.repeat_filled(pattern, task, 1)?;
        Ok(runs.pop().map(|run| run.observation))
    }
}
