//! *Admission* hands out the indices of cases in order until the budget is spent, and knows which case is next to be recorded.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use crossbeam_channel::Sender;
use twinfer_case::{Budget, DeviceUse, RunEnd};

use crate::Options;

/// How many cases may be on their way to a verdict: about as many as are judged in this time. All of them are completed once the
/// budget is spent.
const AHEAD: Duration = Duration::from_secs(1);
/// The bounds of that, per job: enough to hide the way to a worker and back, and few enough that memory stays small.
const MIN_UNDER_WAY: f64 = 8.0;
const MAX_UNDER_WAY: f64 = 128.0;

/// How many cases may wait for their turn, for instance while an earlier one is investigated. With a budget of time, they are
/// several minutes' worth of a fast GPU, since they are recorded in the end; but only a few per device that a backend uses
/// alone, since running more cases there delays the investigation that all of them wait for.
const MAX_WAITING: u64 = 8192;
const MAX_WAITING_FOR_TIME: u64 = 131_072;
const MAX_WAITING_ALONE: u64 = 16;
/// How long cases may still wait for investigations once a budget of time is spent, or the campaign is asked to stop: this
/// share of the budget, between these bounds.
const GRACE: f64 = 0.1;
const LEAST_GRACE: Duration = Duration::from_secs(10);
const MOST_GRACE: Duration = Duration::from_secs(30);

/// Hands out indices, and knows which case is next to be recorded.
pub struct Admission<'a> {
    options: &'a Options,
    /// How many cases may wait for their turn.
    most_waiting: u64,
    /// `None` once the budget is spent, which ends the generator threads, and the executors with them.
    sender: Option<Sender<u64>>,
    earlier: Earlier,
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
pub struct Earlier {
    /// How many cases it recorded, open ones included.
    pub recorded: u64,
    /// The indices of those that it left open, in order; they come first now.
    pub open: Vec<u64>,
}

/// The cases that are next to be recorded.
pub struct Upcoming {
    next: u64,
    /// The distance from one of this campaign's cases to the next.
    step: u64,
}

impl Upcoming {
    /// Their indices in the whole campaign.
    pub fn indices(&self) -> impl Iterator<Item = u64> {
        let Self { next, step } = *self;
        (0..).map(move |number: u64| next.saturating_add(number.saturating_mul(step)))
    }
}

impl<'a> Admission<'a> {
    /// Admission of the cases that are left after an `earlier` part, on backends that use devices in this way.
    pub fn new(options: &'a Options, device_use: DeviceUse, sender: Sender<u64>, earlier: Earlier) -> Self {
        let started = Instant::now();
        let most_waiting = match (device_use, options.budget) {
            (DeviceUse::Alone, Budget::Seconds(_)) => MAX_WAITING_ALONE * options.devices.len().max(1) as u64,
            (DeviceUse::Shared, Budget::Seconds(_)) => MAX_WAITING_FOR_TIME,
            (_, Budget::Cases(_)) => MAX_WAITING,
        };
        Self {
            options,
            most_waiting,
            sender: Some(sender),
            earlier,
            admitted: 0,
            judged: 0,
            recorded: 0,
            started,
            ended: None,
            is_interrupted: false,
        }
    }

    /// Hands out as many indices as keep the generator threads and the executors busy.
    pub fn admit(&mut self) {
        while let Some(sender) = &self.sender {
            if self.is_spent() {
                self.end();
            } else if self.is_asked_to_stop() {
                self.is_interrupted = true;
                self.end();
            } else if !self.has_room() || sender.send(self.index(self.admitted)).is_err() {
                return;
            } else {
                self.admitted += 1;
            }
        }
    }

    fn has_room(&self) -> bool {
        self.admitted - self.judged < self.window() && self.admitted - self.recorded < self.most_waiting
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
            Budget::Seconds(seconds) => {
                Duration::from_secs(seconds).mul_f64(GRACE).clamp(LEAST_GRACE, MOST_GRACE)
            }
            Budget::Cases(_) if self.is_asked_to_stop() => LEAST_GRACE,
            Budget::Cases(_) => Duration::MAX,
        };
        self.ended.is_some_and(|ended| ended.elapsed() > grace)
    }

    /// Counts a case as judged.
    pub const fn judged(&mut self) {
        self.judged += 1;
    }

    /// The index in the whole campaign of the case that is next to be recorded.
    pub fn next_index(&self) -> u64 {
        self.index(self.recorded)
    }

    /// The indices from that one on.
    pub fn upcoming(&self) -> Upcoming {
        Upcoming { next: self.next_index(), step: self.options.shard.1 }
    }

    /// Counts the case at [`next_index`](Self::next_index) as recorded.
    pub const fn recorded(&mut self) {
        self.recorded += 1;
    }

    /// The index in the whole campaign of the `number`th case that this part admits.
    fn index(&self, number: u64) -> u64 {
        let Earlier { recorded, open } = &self.earlier;
        let (shard, shards) = self.options.shard;
        match self.beyond_open(number) {
            Some(number) => shard + (recorded + number) * shards,
            None => open[number as usize],
        }
    }

    /// The same number among the cases that are new; `None` for one that was left open.
    fn beyond_open(&self, number: u64) -> Option<u64> {
        number.checked_sub(self.earlier.open.len() as u64)
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
                let new = self.beyond_open(self.admitted);
                new.is_some_and(|new| self.earlier.recorded + new >= cases)
            }
            Budget::Seconds(seconds) => self.started.elapsed() >= Duration::from_secs(seconds),
        }
    }

    fn is_asked_to_stop(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }
}
