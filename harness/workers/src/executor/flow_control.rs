use std::{
    thread,
    time::{Duration, Instant},
};

use crate::process::pipe::PIPE_BYTES;

/// The longest pause between two reads of a worker's answers. The executor waits for each answer of a slower worker.
const LONGEST_PAUSE: Duration = Duration::from_millis(40);
/// The fewest cases that a worker holds: enough to hide the time that a case and its answer travel.
const FEWEST: usize = 4;
/// The most cases that a worker holds, however fast it is.
const MOST: usize = 64;
/// How long the cases that a worker holds may take together, if each is as slow as the slowest one lately: nobody else runs them
/// meanwhile. TensorRT refuses a case in a millisecond and builds the next one for seconds.
const LONGEST_HOLD: Duration = Duration::from_secs(1);
/// After this many answers, a slow case counts for about a third of its time.
const FADING: u32 = 64;
/// Cases that a worker holds before its rate is known.
const AT_FIRST: usize = 16;

/// The most bytes of answers to leave in the pipe. A worker that cannot write its answer blocks, and that time would
/// count as its cases'.
const MOST_UNREAD: usize = PIPE_BYTES / 2;

/// Decides how many cases an executor sends ahead, and how long it pauses before it reads answers.
///
/// An executor that blocks on the pipe wakes at every message, several times a case, which costs both processes more
/// than the messages do. So it sleeps until the worker has answered about half of the cases that it holds, and then reads several
/// answers at once. A slow worker holds few cases: they run again if the worker is lost, and have to finish when the
/// campaign ends.
pub struct FlowControl {
    since: Instant,
    answers: u32,
    /// Bytes of tensors in these answers.
    bytes: usize,
    /// Time per case, by the last answers.
    per_case: Option<Duration>,
    /// The time of the slowest case, which counts for less the longer ago it was.
    slowest: Duration,
}

impl FlowControl {
    pub fn new() -> Self {
        Self { since: Instant::now(), answers: 0, bytes: 0, per_case: None, slowest: Duration::ZERO }
    }

    /// The most cases that the worker is to hold.
    pub fn window(&self) -> usize {
        self.per_case.map_or(AT_FIRST, window).min(window_at_worst(self.slowest))
    }

    /// Starts measuring: the time until now does not count.
    pub fn restart(&mut self) {
        (self.since, self.answers, self.bytes) = (Instant::now(), 0, 0);
    }

    /// Counts an answer with so many bytes of tensors, to a case on which the worker worked for `time`.
    pub fn record_answer(&mut self, bytes: usize, time: Duration) {
        self.answers += 1;
        self.bytes += bytes;
        self.slowest = time.max(self.slowest * (FADING - 1) / FADING);
    }

    /// Sleeps while a worker that holds so many cases works on them, if it is fast enough.
    pub fn pause(&mut self, cases: usize) {
        if self.answers == 0 {
            return;
        }
        let (per_case, bytes) = (self.since.elapsed() / self.answers, self.bytes / self.answers as usize);
        self.restart();
        self.per_case = Some(per_case);
        thread::sleep(pause(per_case, cases, bytes));
    }
}

/// How many cases a worker with this time per case is to hold: those of two pauses, within limits.
fn window(per_case: Duration) -> usize {
    let cases = 2 * LONGEST_PAUSE.as_nanos() / per_case.as_nanos().max(1);
    usize::try_from(cases).unwrap_or(MOST).clamp(FEWEST, MOST)
}

/// How many cases a worker is to hold if each takes `slowest`: one to work on and one that waits, at least.
fn window_at_worst(slowest: Duration) -> usize {
    let cases = LONGEST_HOLD.as_nanos() / slowest.as_nanos().max(1);
    usize::try_from(cases).unwrap_or(MOST).clamp(2, MOST)
}

/// How long to pause for a worker with this time and these bytes of answers per case, and so many cases.
fn pause(per_case: Duration, cases: usize, bytes: usize) -> Duration {
    let cases = (cases / 2).min(MOST_UNREAD / bytes.max(1));
    if per_case < LONGEST_PAUSE { LONGEST_PAUSE.min(per_case * cases as u32) } else { Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_lasts_half_of_the_held_cases() {
        let per_case = Duration::from_micros(400);
        assert_eq!(pause(per_case, 16, 2000), 8 * per_case);
        assert_eq!(pause(per_case, 1, 2000), Duration::ZERO, "the worker may be idle already");
    }

    #[test]
    fn pause_is_bounded() {
        assert_eq!(pause(Duration::from_millis(6), 16, 0), LONGEST_PAUSE);
        assert_eq!(pause(Duration::from_millis(50), 16, 0), Duration::ZERO, "a slow worker");
    }

    #[test]
    fn pause_ends_before_the_pipe_is_full() {
        let per_case = Duration::from_micros(100);
        assert_eq!(pause(per_case, 64, MOST_UNREAD / 5), 5 * per_case);
        assert_eq!(pause(per_case, 64, MOST_UNREAD + 1), Duration::ZERO);
    }

    #[test]
    fn window_covers_two_pauses() {
        for (micros, cases) in [(0, MOST), (500, MOST), (4_000, 20), (7_000, 11), (60_000, FEWEST)] {
            assert_eq!(window(Duration::from_micros(micros)), cases, "{micros} µs per case");
        }
        let per_case = Duration::from_millis(4);
        assert_eq!(pause(per_case, window(per_case), 0), LONGEST_PAUSE);
    }

    #[test]
    fn slow_case_keeps_others_from_being_held_for_a_while() {
        let mut flow = FlowControl { per_case: Some(Duration::from_millis(1)), ..FlowControl::new() };
        flow.record_answer(0, Duration::from_millis(1));
        assert_eq!(flow.window(), MOST);
        flow.record_answer(0, Duration::from_millis(250));
        assert_eq!(flow.window(), 4);
        flow.record_answer(0, Duration::from_secs(9));
        assert_eq!(flow.window(), 2);
        (0..1000).for_each(|_| flow.record_answer(0, Duration::from_millis(1)));
        assert_eq!(flow.window(), MOST);
    }

    #[test]
    fn time_before_a_restart_does_not_count() {
        let since = Instant::now();
        let mut flow = FlowControl { since, answers: 3, bytes: 9, ..FlowControl::new() };
        thread::sleep(Duration::from_millis(1));
        flow.restart();
        assert!(flow.since > since);
        flow.pause(16);
        assert_eq!(flow.window(), AT_FIRST, "no answer since the restart");
        flow.record_answer(9, Duration::ZERO);
        flow.pause(1);
        assert!(flow.per_case.is_some());
        assert_eq!((flow.answers, flow.bytes), (0, 0));
    }
}
