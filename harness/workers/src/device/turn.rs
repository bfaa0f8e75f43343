use crate::semaphore::{Permit, Priority, Semaphore};

/// An executor's turn on a device that workers use exclusively, acquired and released again and again.
pub struct DeviceTurn<'a> {
    /// `None` if workers share the device.
    semaphore: Option<&'a Semaphore>,
    permit: Option<Permit<'a>>,
}

impl<'a> DeviceTurn<'a> {
    /// A turn that `semaphore` bounds and that is not acquired yet; with `None`, one that never waits.
    pub const fn new(semaphore: Option<&'a Semaphore>) -> Self {
        Self { semaphore, permit: None }
    }

    /// Whether other workers wait while this turn is held.
    pub const fn is_exclusive(&self) -> bool {
        self.semaphore.is_some()
    }

    /// Waits for the turn, unless it is held already.
    pub fn acquire(&mut self) {
        if self.permit.is_none() {
            self.permit = self.semaphore.map(|semaphore| semaphore.acquire(Priority::Needed));
        }
    }

    /// Lets another worker have its turn.
    pub fn release(&mut self) {
        self.permit = None;
    }
}
