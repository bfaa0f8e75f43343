//! *Admission* hands out the indices of cases in order until the budget is spent, and knows which of them have no verdict yet.

use std::{
    collections::BTreeSet,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use crossbeam_channel::Sender;
use twinfer_case::{Budget, RunEnd};

use crate::Options;

/// How many cases may be on their way to a verdict: about as many as are judged in this time. All of them are completed once the
/// budget is spent.
const AHEAD: Duration = Duration::from_secs(1);
/// The bounds of that, per job: enough to hide the way to a worker and back, and few enough that memory stays small.
const MIN_UNDER_WAY: f64 = 8.0;
const MAX_UNDER_WAY: f64 = 128.0;

/// How many cases may be under way or wait for a decision about their divergences, which are held in memory. With a budget of time,
/// they are several minutes' worth of the divergences of a fast GPU.
const MAX_UNDECIDED: u64 = 8192;
const MAX_UNDECIDED_FOR_TIME: u64 = 131_072;
/// How long cases may still wait for investigations once a budget of time is spent: this share of the budget, between these bounds. The
/// lower one holds for a campaign that is asked to stop.
const GRACE: f64 = 0.1;
const LEAST_GRACE: Duration = Duration::from_secs(10);
const MOST_GRACE: Duration = Duration::from_secs(30);

/// Hands out indices, and knows which cases are under way.
pub struct Admission<'a> {
    options: &'a Options,
    /// `None` once the budget is spent, which ends the generator threads, and the executors with them.
    sender: Option<Sender<u64>>,
    earlier: Earlier,
    /// Cases without a verdict, by their index in the campaign.
    under_way: BTreeSet<u64>,
    /// Cases that were handed out and wait until it is known whether they are left out.
    waiting: BTreeSet<u64>,
    admitted: u64,
    judged: u64,
    recorded: u64,
    started: Instant,
    /// When the last index was handed out; `None` while there are more.
    ended: Option<Instant>,
    /// Whether that was before the budget was spent.
    is_interrupted: bool,
}

/// An earlier part of the campaign.
#[derive(Default)]
pub struct Earlier {
    /// The indices of cases that it left open or did not record, in order; they come first now.
    pub unsettled: Vec<u64>,
    /// How many cases of this shard come before the first one that it did not reach.
    pub reached: u64,
}

impl<'a> Admission<'a> {
    /// Admission of the cases that are left after an `earlier` part.
    pub fn new(options: &'a Options, sender: Sender<u64>, earlier: Earlier) -> Self {
        Self {
            options,
            sender: Some(sender),
            earlier,
            under_way: BTreeSet::new(),
            waiting: BTreeSet::new(),
            admitted: 0,
            judged: 0,
            recorded: 0,
            started: Instant::now(),
            ended: None,
            is_interrupted: false,
        }
    }

    /// The options of the campaign.
    pub const fn options(&self) -> &Options {
        self.options
    }

    /// Hands out as many indices as keep the generator threads and the executors busy.
    pub fn admit(&mut self) {
        while let Some(sender) = &self.sender {
            if self.is_asked_to_stop() && !self.is_spent() {
                self.is_interrupted = true;
                self.end();
            } else if self.is_spent() {
                if self.waiting.is_empty() || self.is_asked_to_stop() {
                    self.end();
                }
                return;
            } else {
                let index = self.index(self.admitted);
                if !self.has_room() || sender.send(index).is_err() {
                    return;
                }
                self.under_way.insert(index);
                self.admitted += 1;
            }
        }
    }

    fn has_room(&self) -> bool {
        self.admitted - self.judged - (self.waiting.len() as u64) < self.window()
            && !self.is_full_of_undecided()
    }

    /// Whether no case runs before others are decided.
    pub fn is_full_of_undecided(&self) -> bool {
        let most_undecided = match self.options.budget {
            Budget::Cases(_) => MAX_UNDECIDED,
            Budget::Seconds(_) => MAX_UNDECIDED_FOR_TIME,
        };
        self.admitted - self.recorded >= most_undecided
    }

    /// The case at `index` runs later.
    pub fn wait(&mut self, index: u64) {
        self.waiting.insert(index);
    }

    /// Hands out again the waiting cases that need wait no longer.
    pub fn resume(&mut self, is_over: impl Fn(u64) -> bool) {
        let Some(sender) = &self.sender else { return };
        self.waiting.retain(|index| !(is_over(*index) && sender.send(*index).is_ok()));
    }

    /// Hands out no more.
    fn end(&mut self) {
        self.sender = None;
        self.ended.get_or_insert_with(Instant::now);
    }

    /// Whether the budget is spent and every admitted case is recorded.
    pub const fn is_finished(&self) -> bool {
        self.sender.is_none() && self.recorded == self.admitted
    }

    /// How the campaign ended, once every admitted case is recorded or no longer waited for.
    pub fn run_end(&self) -> RunEnd {
        let is_left = !self.is_finished() && !self.ran_out_of_time();
        if self.is_interrupted || is_left { RunEnd::Interrupted } else { RunEnd::Complete }
    }

    /// Whether a budget of time ended the campaign: cases that wait then are recorded as open, and not left to a campaign that
    /// resumes it.
    pub fn ran_out_of_time(&self) -> bool {
        matches!(self.options.budget, Budget::Seconds(_)) && !self.is_asked_to_stop()
    }

    /// Whether the budget has been spent for so long that waiting cases are given up.
    pub fn is_overdue(&self) -> bool {
        let grace = match self.options.budget {
            _ if self.is_asked_to_stop() => LEAST_GRACE,
            Budget::Seconds(seconds) => {
                Duration::from_secs(seconds).mul_f64(GRACE).clamp(LEAST_GRACE, MOST_GRACE)
            }
            Budget::Cases(_) => Duration::MAX,
        };
        self.ended.is_some_and(|ended| ended.elapsed() > grace)
    }

    /// Counts a case as judged.
    pub const fn judged(&mut self) {
        self.judged += 1;
    }

    /// Counts the case at `index` as one that has all its verdicts.
    pub fn settled(&mut self, index: u64) {
        self.under_way.remove(&index);
    }

    /// How many cases before the one at `index` have no verdict.
    pub fn unsettled_before(&self, index: u64) -> u64 {
        self.under_way.range(..index).count() as u64
    }

    /// Every case before this index has all its verdicts.
    pub fn all_settled_before(&self) -> u64 {
        self.under_way.first().copied().unwrap_or_else(|| self.index(self.admitted))
    }

    /// Whether every case that was handed out has all its verdicts.
    pub fn all_settled(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether the last index was handed out.
    pub const fn has_ended(&self) -> bool {
        self.sender.is_none()
    }

    /// Counts a case as recorded and decided.
    pub const fn recorded(&mut self) {
        self.recorded += 1;
    }

    /// The index in the whole campaign of the `number`th case that this part admits.
    fn index(&self, number: u64) -> u64 {
        match self.beyond_unsettled(number) {
            Some(new) => self.options.shard.case_at(self.earlier.reached + new),
            None => self.earlier.unsettled[number as usize],
        }
    }

    /// The same number among the cases that are new; `None` for one that was left unsettled.
    fn beyond_unsettled(&self, number: u64) -> Option<u64> {
        number.checked_sub(self.earlier.unsettled.len() as u64)
    }

    /// How many cases may be on their way to a verdict.
    fn window(&self) -> u64 {
        let jobs = self.options.jobs.get() as f64;
        let rate = self.judged as f64 / self.started.elapsed().as_secs_f64().max(f64::EPSILON);
        (rate * AHEAD.as_secs_f64()).clamp(MIN_UNDER_WAY * jobs, MAX_UNDER_WAY * jobs) as u64
    }

    fn is_spent(&self) -> bool {
        match self.options.budget {
            Budget::Cases(cases) => {
                let new = self.beyond_unsettled(self.admitted);
                new.is_some_and(|new| self.earlier.reached + new >= cases)
            }
            Budget::Seconds(seconds) => self.started.elapsed() >= Duration::from_secs(seconds),
        }
    }

    /// Whether the campaign is to end before its budget is spent.
    pub fn is_asked_to_stop(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }
}
