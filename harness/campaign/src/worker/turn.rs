use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The *turn* on a device: of all workers that want it to themselves, of whatever variant, one runs a case there at a
/// time, in the order in which they came.
///
/// TensorRT times kernels while it builds. Processes share a GPU by time slices, so that builds side by side take longer
/// together than one after the other, and time each other's work.
#[derive(Default)]
pub struct Turn {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// The device, until it is dropped.
pub struct Held<'a>(&'a Turn);

/// What somebody holds of a device that has cases for it again and again.
pub struct Access<'a> {
    /// None where the device is everybody's.
    turn: Option<&'a Turn>,
    held: Option<Held<'a>>,
}

#[derive(Default)]
struct Queue {
    /// How many have come so far.
    came: u64,
    /// How many of those are done.
    done: u64,
}

impl Turn {
    /// Waits for the device.
    pub fn take(&self) -> Held<'_> {
        let mut queue = self.queue();
        let number = queue.came;
        queue.came += 1;
        let waited = self.changed.wait_while(queue, |queue| queue.done < number);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        Held(self)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Access<'a> {
    /// To what `turn` bounds.
    pub const fn to(turn: Option<&'a Turn>) -> Self {
        Self { turn, held: None }
    }

    /// Whether others wait while it is gained.
    pub const fn is_exclusive(&self) -> bool {
        self.turn.is_some()
    }

    /// Waits until it is gained, unless it is.
    pub fn gain(&mut self) {
        if self.held.is_none() {
            self.held = self.turn.map(Turn::take);
        }
    }

    /// Lets others have it.
    pub fn give_way(&mut self) {
        self.held = None;
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.queue().done += 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc,
        thread,
        time::{Duration, Instant},
    };

    use super::*;

    fn until_came(turn: &Turn, callers: u64) {
        let begun = Instant::now();
        while turn.queue().came < callers {
            assert!(begun.elapsed() < Duration::from_secs(30), "nobody came");
            thread::yield_now();
        }
    }

    #[test]
    fn whoever_comes_first_is_next_and_nobody_comes_back_ahead_of_others() {
        let turn = Turn::default();
        let (sender, order) = mpsc::channel();
        let held = turn.take();
        thread::scope(|scope| {
            for name in 0..3 {
                let (turn, sender) = (&turn, sender.clone());
                scope.spawn(move || {
                    let held = turn.take();
                    sender.send(name).expect("the test receives");
                    drop(held);
                });
                until_came(turn, name + 2);
            }
            drop(held);
            let again = turn.take();
            sender.send(9).expect("the test receives");
            drop(again);
        });
        assert_eq!(order.try_iter().collect::<Vec<_>>(), [0, 1, 2, 9]);
    }
}
