use std::{
    num::NonZero,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

/// Bounds how many of something go on at once; who needs it passes in the order of coming.
///
/// Of starting workers, for one, whatever variant they serve: starting one with TensorRT keeps a core busy for
/// seconds, and more of them than there are cores take minutes together, past the deadline of each. Of cases on a device
/// that workers want to themselves, for another: TensorRT times kernels while it builds, and processes share a GPU by time
/// slices, so that many builds side by side pass their deadlines, and time each other's work.
pub struct Semaphore {
    width: usize,
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// Starts at once on a machine with many cores. Eight workers of TensorRT that start together take 19 s where one takes
/// 9 (docs/performance.md); more were not measured by themselves.
const STARTS: usize = 16;

/// One in this many of those that pass at once may stand by: starting it takes cores that cases run on meanwhile.
const SPARES: usize = 4;

/// How soon a worker is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Somebody waits for it.
    Needed,
    /// It is to stand by; it starts when nobody waits for another.
    Spare,
}

/// The right to go on, until it is dropped.
pub struct Permit<'a>(&'a Semaphore);

/// The passes of somebody who comes again and again, one at a time.
pub struct Turn<'a> {
    /// None where everybody may pass.
    gate: Option<&'a Semaphore>,
    pass: Option<Permit<'a>>,
}

#[derive(Default)]
struct Queue {
    inside: usize,
    /// How many have come that need it, and how many of those have passed.
    came: u64,
    passed: u64,
}

impl Queue {
    const fn has_needy(&self) -> bool {
        self.passed < self.came
    }
}

impl Semaphore {
    /// A gate for this machine: half of the cores start workers, the others serve those that have started; and no more than
    /// [`STARTS`].
    pub fn for_worker_starts() -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        Self::new((cores / 2).clamp(2, STARTS))
    }

    /// Lets `width` pass at once.
    pub fn new(width: usize) -> Self {
        Self { width, queue: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits until the caller may go on.
    pub fn enter(&self, urgency: Priority) -> Permit<'_> {
        let mut queue = self.queue();
        match urgency {
            Priority::Needed => {
                let number = queue.came;
                queue.came += 1;
                queue = self.wait(queue, |queue| queue.passed < number || queue.inside >= self.width);
                queue.passed += 1;
            }
            Priority::Spare => {
                let width = (self.width / SPARES).max(1);
                queue = self.wait(queue, |queue| queue.has_needy() || queue.inside >= width);
            }
        }
        queue.inside += 1;
        // whoever comes next may pass too
        self.changed.notify_all();
        drop(queue);
        Permit(self)
    }

    fn wait<'a>(
        &'a self,
        queue: MutexGuard<'a, Queue>,
        is_closed: impl Fn(&Queue) -> bool,
    ) -> MutexGuard<'a, Queue> {
        self.changed.wait_while(queue, |queue| is_closed(queue)).unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Turn<'a> {
    /// To what `gate` bounds.
    pub const fn to(gate: Option<&'a Semaphore>) -> Self {
        Self { gate, pass: None }
    }

    /// Whether others wait while it is gained.
    pub const fn is_exclusive(&self) -> bool {
        self.gate.is_some()
    }

    /// Waits until it is gained, unless it is.
    pub fn gain(&mut self) {
        if self.pass.is_none() {
            self.pass = self.gate.map(|gate| gate.enter(Priority::Needed));
        }
    }

    /// Lets others have it.
    pub fn give_way(&mut self) {
        self.pass = None;
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.queue().inside -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc,
        time::{Duration, Instant},
    };

    use super::*;

    /// Waits until that many callers wait for a worker that is needed.
    fn until_needed(gate: &Semaphore, callers: u64) {
        let begun = Instant::now();
        let waiting = || {
            let queue = gate.queue();
            queue.came - queue.passed
        };
        while waiting() < callers {
            assert!(begun.elapsed() < Duration::from_secs(30), "nobody came to the gate");
            thread::yield_now();
        }
    }

    #[test]
    fn no_more_start_at_once_than_the_gate_is_wide() {
        let gate = Semaphore::new(2);
        let (first, _second) = (gate.enter(Priority::Needed), gate.enter(Priority::Needed));
        thread::scope(|scope| {
            let third = scope.spawn(|| drop(gate.enter(Priority::Needed)));
            until_needed(&gate, 1);
            assert_eq!(gate.queue().inside, 2);
            drop(first);
            third.join().expect("it starts once another has");
        });
    }

    #[test]
    fn a_spare_lets_a_needed_worker_go_first() {
        let gate = Semaphore::new(1);
        let (sender, order) = mpsc::channel();
        let pass = gate.enter(Priority::Needed);
        thread::scope(|scope| {
            for urgency in [Priority::Spare, Priority::Needed] {
                let (gate, sender) = (&gate, sender.clone());
                scope.spawn(move || {
                    let pass = gate.enter(urgency);
                    sender.send(urgency).expect("the test receives");
                    drop(pass);
                });
            }
            until_needed(&gate, 1);
            drop(pass);
        });
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [Priority::Needed, Priority::Spare]);
    }

    #[test]
    fn whoever_comes_first_is_next_and_nobody_comes_back_ahead_of_others() {
        let gate = Semaphore::new(1);
        let (sender, order) = mpsc::channel();
        let pass = gate.enter(Priority::Needed);
        thread::scope(|scope| {
            for name in 0..3 {
                let (gate, sender) = (&gate, sender.clone());
                scope.spawn(move || {
                    let pass = gate.enter(Priority::Needed);
                    sender.send(name).expect("the test receives");
                    drop(pass);
                });
                until_needed(gate, name + 1);
            }
            drop(pass);
            let again = gate.enter(Priority::Needed);
            sender.send(9).expect("the test receives");
            drop(again);
        });
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [0, 1, 2, 9]);
    }
}
