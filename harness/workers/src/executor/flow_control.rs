use std::{
    thread,
    time::{Duration, Instant},
};

use crate::process::PIPE_BYTES;

/// The longest that a worker is left alone; one that takes longer for a case is waited for.
const LONGEST: Duration = Duration::from_millis(40);
/// The fewest cases that a worker holds: enough to hide the way to it and back.
const FEWEST: usize = 4;
/// The most, however fast it is.
const MOST: usize = 64;
/// Those of a worker whose pace is not known yet.
const AT_FIRST: usize = 16;

/// The most bytes of answers that are left in the pipe: a worker that cannot say its answer waits, and what it waits
/// would count as its cases'.
const MOST_UNREAD: usize = PIPE_BYTES / 2;

/// How many cases a lane gives its worker ahead, and how long it leaves it alone with them.
///
/// A lane that waits at the pipe is woken by everything that its worker says, several times a case, which costs both of
/// them more than what is said. So it comes back when about half of what the worker holds is answered, and finds the words
/// of several cases. A slow worker holds few, which are run again where it is lost, and finished when the campaign ends.
pub struct FlowControl {
    since: Instant,
    answers: u32,
    /// The bytes of their tensors.
    bytes: usize,
    /// How long it takes for a case, by what it answered last.
    case: Option<Duration>,
}

impl FlowControl {
    pub fn new() -> Self {
        Self { since: Instant::now(), answers: 0, bytes: 0, case: None }
    }

    /// How many cases the worker is to hold at most.
    pub fn window(&self) -> usize {
        self.case.map_or(AT_FIRST, window)
    }

    /// Notes that the worker begins to work: the time until now is not that of its cases.
    pub fn begin(&mut self) {
        (self.since, self.answers, self.bytes) = (Instant::now(), 0, 0);
    }

    /// Counts an answer whose tensors have so many bytes.
    pub const fn answered(&mut self, bytes: usize) {
        self.answers += 1;
        self.bytes += bytes;
    }

    /// Lets a worker that holds so many cases work on them, if it answers fast enough.
    pub fn pause(&mut self, cases: usize) {
        if self.answers == 0 {
            return;
        }
        let (case, bytes) = (self.since.elapsed() / self.answers, self.bytes / self.answers as usize);
        self.begin();
        self.case = Some(case);
        thread::sleep(pause(case, cases, bytes));
    }
}

/// How many cases a worker is to hold that takes so long for one: what it does while it is left alone, twice, within
/// limits.
fn window(case: Duration) -> usize {
    let cases = 2 * LONGEST.as_nanos() / case.as_nanos().max(1);
    usize::try_from(cases).unwrap_or(MOST).clamp(FEWEST, MOST)
}

/// How long a worker is left alone that takes so long for a case, holds so many, and answers with so many bytes.
fn pause(case: Duration, cases: usize, bytes: usize) -> Duration {
    let cases = (cases / 2).min(MOST_UNREAD / bytes.max(1));
    if case < LONGEST { LONGEST.min(case * cases as u32) } else { Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_worker_is_left_alone_for_half_of_what_it_holds() {
        let case = Duration::from_micros(400);
        assert_eq!(pause(case, 16, 2000), 8 * case);
        assert_eq!(pause(case, 1, 2000), Duration::ZERO, "there may be nothing left to do");
    }

    #[test]
    fn no_worker_is_left_alone_for_long() {
        assert_eq!(pause(Duration::from_millis(6), 16, 0), LONGEST);
        assert_eq!(
            pause(Duration::from_millis(50), 16, 0),
            Duration::ZERO,
            "each of its answers is waited for"
        );
    }

    #[test]
    fn a_worker_is_not_left_alone_until_it_cannot_say_more() {
        let case = Duration::from_micros(100);
        assert_eq!(pause(case, 64, MOST_UNREAD / 5), 5 * case);
        assert_eq!(pause(case, 64, MOST_UNREAD + 1), Duration::ZERO);
    }

    #[test]
    fn a_worker_holds_about_twice_what_it_does_while_it_is_left_alone() {
        for (micros, cases) in [(0, MOST), (500, MOST), (4_000, 20), (7_000, 11), (60_000, FEWEST)] {
            assert_eq!(window(Duration::from_micros(micros)), cases, "{micros} µs a case");
        }
        let case = Duration::from_millis(4);
        assert_eq!(pause(case, window(case), 0), LONGEST);
    }

    #[test]
    fn the_time_before_a_worker_begins_is_not_that_of_its_cases() {
        let since = Instant::now();
        let mut pace = FlowControl { since, answers: 3, bytes: 9, case: None };
        thread::sleep(Duration::from_millis(1));
        pace.begin();
        assert!(pace.since > since);
        pace.pause(16);
        assert_eq!(pace.window(), AT_FIRST, "it has answered nothing since");
        pace.answered(9);
        pace.pause(1);
        assert!(pace.case.is_some());
        assert_eq!((pace.answers, pace.bytes), (0, 0));
    }
}
