//! A *ticket* is the place of a case that is to be prepared. Admission are handed out in order until the budget is spent.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use crossbeam_channel::Sender;
use twinfer_case::{Budget, DeviceUse};

use crate::Options;

/// How many cases may be on their way to a verdict: about what is judged in this time, since they are all finished once the
/// budget is spent.
const AHEAD: Duration = Duration::from_secs(1);
/// For each job: at least enough to hide the way to a worker and back, at most few enough that
/// memory stays small.
const MIN_UNDER_WAY: f64 = 8.0;
const MAX_UNDER_WAY: f64 = 128.0;

/// Cases that may wait for their turn at once, for instance while an earlier one is investigated. Where time is what ends the
/// campaign they are several minutes' worth of a fast GPU, since what waits then is told; but few for each device that a
/// backend wants alone: there, running on keeps it from what all wait for.
const MAX_WAITING: u64 = 8192;
const MAX_WAITING_FOR_TIME: u64 = 131_072;
const MAX_WAITING_ALONE: u64 = 16;
/// How long cases may still wait for investigations once a budget of time is spent, or the campaign is asked to stop: this
/// share of the budget, at least and at most so long.
const GRACE: f64 = 0.1;
const LEAST_GRACE: Duration = Duration::from_secs(10);
const MOST_GRACE: Duration = Duration::from_secs(30);

/// Hands out tickets, and knows which case comes next to be committed.
pub struct Admission<'a> {
    options: &'a Options,
    /// Cases that may wait for their turn.
    most_waiting: u64,
    /// Gone once the budget is spent, which ends the preparers, and the lanes with them.
    sender: Option<Sender<u64>>,
    earlier: Earlier,
    issued: u64,
    judged: u64,
    committed: u64,
    started: Instant,
    /// When the last ticket was issued, if that was before all cases of the budget were.
    ended: Option<Instant>,
}

/// An earlier part of the campaign.
pub struct Earlier {
    /// Cases that it committed.
    pub committed: u64,
    /// The places of those that it left open, which come first now, in order.
    pub open: Vec<u64>,
}

impl<'a> Admission<'a> {
    /// Admission for the cases that are left after an `earlier` part, on backends that use devices in this way.
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
            issued: 0,
            judged: 0,
            committed: 0,
            started,
            ended: None,
        }
    }

    /// Hands out as many as keep the preparers and the lanes busy.
    pub fn issue(&mut self) {
        while let Some(sender) = &self.sender {
            if self.is_spent() {
                self.end();
            } else if !self.has_room() || sender.send(self.place(self.issued)).is_err() {
                return;
            } else {
                self.issued += 1;
            }
        }
    }

    fn has_room(&self) -> bool {
        self.issued - self.judged < self.window() && self.issued - self.committed < self.most_waiting
    }

    /// Issues no more.
    fn end(&mut self) {
        self.sender = None;
        self.ended.get_or_insert_with(Instant::now);
    }

    /// Whether the budget is spent and every ticket's case committed.
    pub const fn are_used_up(&self) -> bool {
        self.sender.is_none() && self.committed == self.issued
    }

    /// Whether time was the budget and ended the campaign: what waits then is told, and not left to a campaign that resumes it.
    pub fn ran_out_of_time(&self) -> bool {
        matches!(self.options.budget, Budget::Seconds(_)) && !self.is_asked_to_stop()
    }

    /// Whether the budget is spent for so long that what waits is given up.
    pub fn are_overdue(&self) -> bool {
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

    /// The distance from one of this campaign's cases to the next.
    pub const fn step(&self) -> u64 {
        self.options.shard.1
    }

    /// The place in the whole campaign of the case that comes next to be committed.
    pub fn next_place(&self) -> u64 {
        self.place(self.committed)
    }

    /// Counts the case at [`next_place`](Self::next_place) as committed.
    pub const fn commit(&mut self) {
        self.committed += 1;
    }

    /// The place in the whole campaign of the case of the `number`th ticket.
    fn place(&self, number: u64) -> u64 {
        let Earlier { committed, open } = &self.earlier;
        let (shard, shards) = self.options.shard;
        match self.beyond_open(number) {
            Some(number) => shard + (committed + number) * shards,
            None => open[number as usize],
        }
    }

    /// The same number among the tickets for cases that are new; `None` for one that was left open.
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
        let spent = match self.options.budget {
            Budget::Cases(cases) => {
                let new = self.beyond_open(self.issued);
                new.is_some_and(|new| self.earlier.committed + new >= cases)
            }
            Budget::Seconds(seconds) => self.started.elapsed() >= Duration::from_secs(seconds),
        };
        spent || self.is_asked_to_stop()
    }

    fn is_asked_to_stop(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }
}
