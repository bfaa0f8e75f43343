//! *Waits* for the workers of a device. One case that hangs on a device can stop all of its workers, so the one that took suspiciously long first
//! need not be the cause: those that start again most quickly are ended first.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use tracing::debug;

/// How soon a suspicion that was put off comes up again.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// A device on which no worker has sent anything for so long *stands still*: a worker that died or hangs on it stops the others.
const STANDSTILL: Duration = Duration::from_secs(1);

/// The workers of a device that the supervisor waits for.
#[derive(Default)]
pub struct Waits {
    all: Mutex<Vec<Weak<Wait>>>,
    /// When a worker was last ended on suspicion, or a case last ran that had ended one. Times from before are of no use.
    disturbed: Mutex<Option<Instant>>,
    pace: Mutex<Pace>,
}

/// Whether the workers of a device go on.
#[derive(Default)]
struct Pace {
    /// When the last wait ended.
    last_end: Option<Instant>,
    /// When the device last went on after it had stood still. Times from before say nothing about the cases.
    resumed: Option<Instant>,
}

impl Pace {
    /// Notes that a wait ends now.
    fn go_on(&mut self, now: Instant) {
        if self.last_end.is_some_and(|last| now.duration_since(last) >= STANDSTILL) {
            self.resumed = Some(now);
        }
        self.last_end = Some(now);
    }
}

/// How the supervisor waits for one worker.
pub struct Wait {
    waits: Arc<Waits>,
    /// How long the worker took to start.
    start_time: Duration,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    /// When the wait for the worker's next message began; `None` between two waits.
    since: Option<Instant>,
    patience: Patience,
    is_suspected: bool,
}

/// How long a worker may take until it is suspected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Patience {
    /// Until the deadline of the stage.
    #[default]
    Full,
    /// Until the deadline of the stage, because its case has already ended a worker on suspicion. No other worker of the device is suspected
    /// meanwhile.
    Trial,
    /// This long.
    Limited(Duration),
}

impl Waits {
    /// How the supervisor waits for a worker that took this long to start.
    pub fn add(self: &Arc<Self>, start_time: Duration) -> Arc<Wait> {
        let wait = Arc::new(Wait { waits: Arc::clone(self), start_time, state: Mutex::default() });
        let mut all = self.all();
        all.retain(|wait| wait.strong_count() > 0);
        all.push(Arc::downgrade(&wait));
        wait
    }

    /// Decides whether `wait`, whose patience is spent, ends its worker.
    fn suspect(&self, wait: &Wait) -> bool {
        let all = self.all();
        if wait.patience_left().is_none_or(|left| !left.is_zero()) {
            return wait.state().is_suspected;
        }
        let others: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
        let others: Vec<_> = others.iter().filter(|other| !std::ptr::eq(&raw const ***other, wait)).collect();
        let is_tried = others.iter().any(|other| other.is_trial());
        let stuck: Vec<_> = others.iter().filter(|other| other.is_stuck()).collect();
        let come_first = stuck.iter().any(|other| wait.is_slower_to_start_than(other));
        if is_tried || come_first {
            return false;
        }
        let mut suspected = 1;
        wait.state().is_suspected = true;
        if wait.is_quick_to_replace() {
            // one of them is the cause, and to find out which takes longer than to replace all
            for other in stuck.iter().filter(|other| !other.is_slower_to_start_than(wait)) {
                other.state().is_suspected = true;
                suspected += 1;
            }
        }
        self.disturb();
        debug!(suspected, stuck = stuck.len() + 1, "workers suspected to hang");
        true
    }

    fn disturb(&self) {
        *self.disturbed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Notes that a wait ends. Returns when the device last went on after it had stood still.
    fn go_on(&self) -> Option<Instant> {
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        pace.go_on(Instant::now());
        pace.resumed
    }

    fn disturbed(&self) -> Option<Instant> {
        *self.disturbed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> MutexGuard<'_, Vec<Weak<Wait>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wait {
    /// Begins to wait for the worker's next message.
    pub fn begin(&self, patience: Patience) {
        *self.state() = State { since: Some(Instant::now()), patience, is_suspected: false };
    }

    /// Ends the wait. Returns how long it was, unless others on the device disturbed it or the device stood still, and whether the worker
    /// was suspected.
    pub fn end(&self) -> (Option<Duration>, bool) {
        let State { since, patience, is_suspected } = mem::take(&mut *self.state());
        let undisturbed_since = self.waits.disturbed().max(self.waits.go_on());
        let undisturbed = since.filter(|since| undisturbed_since < Some(*since));
        if patience == Patience::Trial {
            self.waits.disturb();
        }
        (undisturbed.map(|since| since.elapsed()), is_suspected)
    }

    /// How long the wait may go on; `None` if the worker is suspected.
    pub fn left(&self) -> Option<Duration> {
        match self.patience_left() {
            Some(left) if left.is_zero() => (!self.waits.suspect(self)).then_some(LOOK_AGAIN),
            left => left,
        }
    }

    /// The patience that is left; `None` if the worker is suspected.
    fn patience_left(&self) -> Option<Duration> {
        let State { since, patience, is_suspected } = *self.state();
        if is_suspected {
            return None;
        }
        match (since, patience) {
            (Some(since), Patience::Limited(patience)) => {
                let since = Some(since).max(self.waits.disturbed());
                Some(patience.saturating_sub(since.map_or(Duration::ZERO, |since| since.elapsed())))
            }
            _ => Some(Duration::MAX),
        }
    }

    /// Whether half of its patience is spent.
    fn is_stuck(&self) -> bool {
        match *self.state() {
            State { since: Some(since), patience: Patience::Limited(patience), .. } => {
                since.elapsed() >= patience / 2
            }
            _ => false,
        }
    }

    fn is_trial(&self) -> bool {
        matches!(*self.state(), State { since: Some(_), patience: Patience::Trial, .. })
    }

    fn is_slower_to_start_than(&self, other: &Self) -> bool {
        self.start_time > 2 * other.start_time
    }

    /// Whether another worker would start within half of the patience.
    fn is_quick_to_replace(&self) -> bool {
        matches!(self.state().patience, Patience::Limited(patience) if 2 * self.start_time <= patience)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(100);
    const QUICK: Duration = Duration::from_secs(1);
    const SLOW: Duration = Duration::from_secs(80);

    /// A wait for a worker with this start time that has lasted so many seconds.
    fn lasting(waits: &Arc<Waits>, start_time: Duration, seconds: u64, patience: Patience) -> Arc<Wait> {
        let wait = waits.add(start_time);
        wait.begin(patience);
        wait.state().since = Instant::now().checked_sub(Duration::from_secs(seconds));
        assert!(wait.state().since.is_some(), "the machine has run for as long");
        wait
    }

    fn limited(waits: &Arc<Waits>, start_time: Duration, seconds: u64) -> Arc<Wait> {
        lasting(waits, start_time, seconds, Patience::Limited(PATIENCE))
    }

    fn is_suspected(wait: &Wait) -> bool {
        wait.left().is_none()
    }

    #[test]
    fn worker_is_suspected_once_its_patience_is_spent() {
        let waits = Arc::default();
        assert!(!is_suspected(&limited(&waits, QUICK, 99)));
        assert!(is_suspected(&limited(&waits, QUICK, 101)));
        assert!(!is_suspected(&lasting(&waits, QUICK, 101, Patience::Full)));
        assert!(!is_suspected(&waits.add(QUICK)), "it is not waited for");
    }

    #[test]
    fn workers_that_start_quickly_are_suspected_together() {
        let waits = Arc::default();
        let [late, stuck, busy] = [101, 60, 3].map(|seconds| limited(&waits, QUICK, seconds));
        let slow = limited(&waits, SLOW, 120);
        assert!(is_suspected(&late) && is_suspected(&stuck));
        assert!(!is_suspected(&busy) && !is_suspected(&slow));
    }

    #[test]
    fn worker_that_starts_slowly_is_suspected_last_and_alone() {
        let waits = Arc::default();
        let quick = limited(&waits, QUICK, 60);
        let slow = [101, 102].map(|seconds| limited(&waits, SLOW, seconds));
        assert!(!is_suspected(&slow[0]), "another one comes first");
        drop(quick);
        assert!(is_suspected(&slow[0]));
        assert!(!is_suspected(&slow[1]), "the end of the other one may have helped");
    }

    #[test]
    fn nothing_is_suspected_while_a_suspected_case_is_tried() {
        let waits = Arc::default();
        let trial = lasting(&waits, QUICK, 50, Patience::Trial);
        let other = limited(&waits, QUICK, 101);
        assert!(!is_suspected(&other));
        trial.end();
        assert!(!is_suspected(&other), "its patience begins anew");
        other.begin(Patience::Limited(Duration::ZERO));
        assert!(is_suspected(&other));
    }

    #[test]
    fn disturbed_times_do_not_count() {
        let waits = Arc::default();
        let [late, other] = [101, 10].map(|seconds| limited(&waits, QUICK, seconds));
        assert!(is_suspected(&late));
        assert_eq!(late.end(), (None, true));
        assert_eq!(other.end(), (None, false));
        other.begin(Patience::Full);
        assert!(matches!(other.end(), (Some(_), false)));
    }

    #[test]
    fn times_of_a_device_that_stood_still_do_not_count() {
        let waits = Arc::default();
        let [first, second] = [3, 2].map(|seconds| limited(&waits, QUICK, seconds));
        waits.go_on();
        waits.pace.lock().unwrap().last_end = Instant::now().checked_sub(STANDSTILL);
        assert_eq!([first.end().0, second.end().0], [None, None]);
        first.begin(Patience::Full);
        assert!(first.end().0.is_some(), "the device goes on");
    }

    #[test]
    fn time_counts_however_long_while_others_go_on() {
        let waits = Arc::default();
        let long = limited(&waits, QUICK, 50);
        waits.go_on();
        assert!(long.end().0.is_some());
    }
}
