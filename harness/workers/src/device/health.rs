use std::sync::{
    OnceLock,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// A device is given up when it ended so many cases, one after the other, that end well on another.
const STRIKES: usize = 3;

/// Whether workers can work on a device.
#[derive(Default)]
pub struct Health {
    strikes: AtomicUsize,
    given_up: OnceLock<String>,
    told: AtomicBool,
}

impl Health {
    /// A worker here was lost over a case that ends well on another device.
    pub fn strike(&self) {
        if self.strikes.fetch_add(1, Ordering::Relaxed) + 1 >= STRIKES {
            self.give_up(format!("{STRIKES} cases in a row ended a worker there and end well elsewhere"));
        }
    }

    /// A worker here has answered.
    pub fn answered(&self) {
        self.strikes.store(0, Ordering::Relaxed);
    }

    /// No worker is to be started here any more where there is another device.
    pub fn give_up(&self, reason: String) {
        let _ = self.given_up.set(reason);
    }

    /// Whether it is given up.
    pub fn is_given_up(&self) -> bool {
        self.given_up.get().is_some()
    }

    /// Why it is given up; asked again, nothing.
    pub fn newly_given_up(&self) -> Option<&str> {
        let reason = self.given_up.get()?;
        (!self.told.swap(true, Ordering::Relaxed)).then_some(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::{Health, STRIKES};

    #[test]
    fn strikes_in_a_row_count_and_are_told_once() {
        let health = Health::default();
        for _ in 0..STRIKES {
            health.strike();
            health.answered();
        }
        assert!(!health.is_given_up());
        (0..STRIKES).for_each(|_| health.strike());
        assert!(
            health.is_given_up() && health.newly_given_up().is_some() && health.newly_given_up().is_none()
        );
    }
}
