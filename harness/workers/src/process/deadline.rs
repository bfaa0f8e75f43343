use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use twinfer_case::Stage;

use crate::device::waits::Wait;

/// The time until which the supervisor waits for a worker. Both pipes to the worker share it.
pub struct Deadline {
    epoch: Instant,
    /// Milliseconds after `epoch`.
    at: AtomicU64,
    /// Whether the worker is suspected before its deadline; unset while that is not watched.
    wait: OnceLock<Arc<Wait>>,
}

impl Deadline {
    /// A deadline `time` from now.
    pub fn after(time: Duration) -> Self {
        let deadline = Self { epoch: Instant::now(), at: AtomicU64::new(0), wait: OnceLock::new() };
        deadline.set(time);
        deadline
    }

    /// Moves the deadline to `time` from now.
    pub fn set(&self, time: Duration) {
        let at = self.epoch.elapsed().saturating_add(time).as_millis();
        self.at.store(u64::try_from(at).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Has the deadline pass early if the worker is suspected.
    pub fn watch(&self, wait: Arc<Wait>) {
        let _ = self.wait.set(wait);
    }

    /// The time that is left; `None` once the deadline has passed, or the worker is suspected.
    pub fn left(&self) -> Option<Duration> {
        let at = Duration::from_millis(self.at.load(Ordering::Relaxed));
        let left = at.checked_sub(self.epoch.elapsed()).filter(|left| !left.is_zero())?;
        self.wait.get().map_or(Some(left), |wait| Some(wait.left()?.min(left)))
    }
}

/// How long a worker may stay in each stage before it counts as hung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// From spawning the worker to its handshake.
    pub start: Duration,
    /// Reading the model's bytes.
    pub load: Duration,
    /// Parsing the model.
    pub parse: Duration,
    /// Building an executable engine or session.
    pub build: Duration,
    /// Executing one run.
    pub execute: Duration,
    /// In any stage, at least, before a worker is suspected to hang because hundreds of cases of its variant were much quicker. A suspected
    /// worker is ended, and its case runs again under the deadline of the stage, which alone decides whether it hangs.
    pub suspicion: Duration,
}

impl Deadlines {
    /// How long a worker may stay in `stage`.
    pub const fn of(&self, stage: Stage) -> Duration {
        match stage {
            Stage::Start => self.start,
            Stage::Load => self.load,
            Stage::Parse => self.parse,
            Stage::Build => self.build,
            Stage::Execute => self.execute,
        }
    }

    /// These deadlines, but for the stages that `times` gives another one.
    #[must_use]
    pub fn with(self, times: impl Fn(Stage) -> Option<Duration>) -> Self {
        let of = |stage| times(stage).unwrap_or_else(|| self.of(stage));
        Self {
            start: of(Stage::Start),
            load: of(Stage::Load),
            parse: of(Stage::Parse),
            build: of(Stage::Build),
            execute: of(Stage::Execute),
            suspicion: self.suspicion,
        }
    }
}

impl Default for Deadlines {
    /// Several times the slowest that was measured with TensorRT on a busy machine.
    fn default() -> Self {
        Self {
            start: Duration::from_mins(2),
            load: Duration::from_secs(30),
            parse: Duration::from_secs(30),
            build: Duration::from_mins(2),
            execute: Duration::from_secs(30),
            suspicion: Duration::from_secs(8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_that_moves_has_time_left_again() {
        let deadline = Deadline::after(Duration::ZERO);
        assert_eq!(deadline.left(), None);
        deadline.set(Duration::from_hours(1));
        assert!(deadline.left().is_some_and(|left| left > Duration::from_mins(59)));
        deadline.set(Duration::MAX);
        assert!(deadline.left().is_some());
    }
}
