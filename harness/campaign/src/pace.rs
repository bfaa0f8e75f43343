use std::{
    mem, thread,
    time::{Duration, Instant},
};

/// The longest that a worker is left alone; one that takes longer for a case is waited for.
const LONGEST: Duration = Duration::from_millis(10);

/// How long a lane leaves a worker alone that has plenty to do.
///
/// A lane that waits at the pipe is woken by everything that its worker says, several times a case, which costs both of
/// them more than what is said. So it comes back when about half of what the worker holds is answered, and finds the words
/// of several cases.
pub struct Pace {
    since: Instant,
    answers: u32,
}

impl Pace {
    pub fn new() -> Self {
        Self { since: Instant::now(), answers: 0 }
    }

    /// Counts an answer.
    pub const fn answered(&mut self) {
        self.answers += 1;
    }

    /// Lets a worker that holds so many cases work on them, if it answers fast enough.
    pub fn pause(&mut self, cases: usize) {
        if self.answers == 0 {
            return;
        }
        let case = self.since.elapsed() / mem::take(&mut self.answers);
        self.since = Instant::now();
        thread::sleep(pause(case, cases));
    }
}

/// How long a worker is left alone that takes so long for a case and holds so many.
fn pause(case: Duration, cases: usize) -> Duration {
    if case < LONGEST { LONGEST.min(case * (cases / 2) as u32) } else { Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_worker_is_left_alone_for_half_of_what_it_holds() {
        let case = Duration::from_micros(400);
        assert_eq!(pause(case, 16), 8 * case);
        assert_eq!(pause(case, 1), Duration::ZERO, "there may be nothing left to do");
    }

    #[test]
    fn no_worker_is_left_alone_for_long() {
        assert_eq!(pause(Duration::from_millis(3), 16), LONGEST);
        assert_eq!(pause(Duration::from_millis(30), 16), Duration::ZERO, "each of its answers is waited for");
    }
}
