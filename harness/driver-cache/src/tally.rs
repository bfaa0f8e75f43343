use std::{fmt, ops::Add};

/// How many requests for device attributes there were, and how many of them reached the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttributeTally {
    /// Requests of libraries.
    pub asked: u64,
    /// Requests that the driver answered, those for comparison included.
    pub answered_by_driver: u64,
    /// Cached answers that were compared with the driver's.
    pub compared: u64,
    /// Comparisons in which the driver's answer differed from the cached one.
    pub changed: u64,
}

impl fmt::Display for AttributeTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} device attributes requested, {} answered by the driver, {} answers compared, {} changed",
            self.asked, self.answered_by_driver, self.compared, self.changed
        )
    }
}

/// How many allocations there were, and how many of them reached the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryTally {
    /// Successful allocations of libraries.
    pub asked: u64,
    /// Allocations that the driver made; the others reused memory that had been freed.
    pub answered_by_driver: u64,
}

impl Add for MemoryTally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            asked: self.asked + other.asked,
            answered_by_driver: self.answered_by_driver + other.answered_by_driver,
        }
    }
}
