use std::sync::{
    OnceLock,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// A device is given up after this many failures in a row: cases that ended a worker there and end well on another device.
const MOST_FAILURES: usize = 3;

/// Whether workers can work on a device.
#[derive(Default)]
pub struct DeviceHealth {
    failures: AtomicUsize,
    given_up: OnceLock<String>,
    is_reported: AtomicBool,
}

impl DeviceHealth {
    /// Counts a case that ended a worker on this device and ends well on another one.
    pub fn record_failure(&self) {
        if self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= MOST_FAILURES {
            self.give_up(format!(
                "{MOST_FAILURES} cases in a row ended a worker there and end well elsewhere"
            ));
        }
    }

    /// A worker on this device has answered, so failures are counted from zero again.
    pub fn record_answer(&self) {
        self.failures.store(0, Ordering::Relaxed);
    }

    /// Gives up the device: no more workers start there as long as there is another device. The first reason counts.
    pub fn give_up(&self, reason: String) {
        let _ = self.given_up.set(reason);
    }

    /// Whether the device is given up.
    pub fn is_given_up(&self) -> bool {
        self.given_up.get().is_some()
    }

    /// Why the device was given up; `None` if it was not, and after the first call that returned the reason.
    pub fn newly_given_up(&self) -> Option<&str> {
        let reason = self.given_up.get()?;
        (!self.is_reported.swap(true, Ordering::Relaxed)).then_some(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::{DeviceHealth, MOST_FAILURES};

    #[test]
    fn failures_in_a_row_give_up_a_device_once() {
        let health = DeviceHealth::default();
        for _ in 0..MOST_FAILURES {
            health.record_failure();
            health.record_answer();
        }
        assert!(!health.is_given_up());
        (0..MOST_FAILURES).for_each(|_| health.record_failure());
        assert!(health.is_given_up() && health.newly_given_up().is_some());
        assert!(health.newly_given_up().is_none());
    }
}
