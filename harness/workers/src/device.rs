pub mod health;
pub mod occupancy;
pub mod turn;
pub mod waits;

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use self::waits::Waits;
use crate::semaphore::Semaphore;

/// How often a full device is looked at for workers that have become idle.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How long a device that refused a process counts as full: other programs may leave it.
const REFUSAL: Duration = Duration::from_secs(10);

/// A device, shared by the workers of all variants that run on it.
pub struct Device {
    name: Option<String>,
    turn: Arc<Semaphore>,
    /// How many processes the device serves at once; `None` if any number.
    places: Option<usize>,
    /// Places that are taken, and what the device was seen to refuse.
    taken: Mutex<Taken>,
    /// Notified when a place becomes free.
    left: Condvar,
    workers: AtomicUsize,
    waits: Arc<Waits>,
}

/// The places of a device that are taken.
#[derive(Default)]
struct Taken {
    places: usize,
    /// How many places the device had when it refused a process, because other programs use it too, and until when that counts.
    refused: Option<(usize, Instant)>,
}

/// A worker's place on a device; free again when dropped.
pub struct DevicePlace {
    device: Arc<Device>,
    is_counted: bool,
}

impl Device {
    /// The device with this name, as `CUDA_VISIBLE_DEVICES` spells it; with `None`, the one that workers choose. It serves so many
    /// processes at once, any number with `None`.
    pub fn new(name: Option<String>, places: Option<usize>) -> Self {
        Self {
            name,
            turn: Arc::new(Semaphore::new("device turn", 1)),
            places,
            taken: Mutex::default(),
            left: Condvar::new(),
            workers: AtomicUsize::new(0),
            waits: Arc::default(),
        }
    }

    /// The device's name; `None` if workers choose the device.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The semaphore of workers that use the device exclusively: one of them runs cases at a time.
    pub const fn turn(&self) -> &Arc<Semaphore> {
        &self.turn
    }

    /// The workers that the supervisor waits for.
    pub const fn waits(&self) -> &Arc<Waits> {
        &self.waits
    }

    /// A place for a worker; `None` if all are taken.
    pub fn try_enter(self: &Arc<Self>) -> Option<DevicePlace> {
        self.take(&mut self.taken())
    }

    /// A place for a worker. While all are taken, `make_room` is called, which frees one or returns false, and others are waited
    /// for; `None` if none is free after `patience`.
    pub fn enter(self: &Arc<Self>, make_room: impl Fn() -> bool, patience: Duration) -> Option<DevicePlace> {
        let end = Instant::now() + patience;
        loop {
            if let Some(place) = self.try_enter() {
                return Some(place);
            }
            if make_room() {
                continue;
            }
            let rest = end.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return None;
            }
            let taken = self.taken();
            // workers become idle without notice
            drop(self.left.wait_timeout_while(taken, rest.min(LOOK_AGAIN), |taken| self.is_full(taken)));
        }
    }

    /// The device refused a process although a place was free, because other programs use it too: for a while it serves no more than
    /// those that have a place now.
    pub fn record_refusal(&self) {
        let mut taken = self.taken();
        taken.refused = Some((taken.places, Instant::now() + REFUSAL));
    }

    fn take(self: &Arc<Self>, taken: &mut Taken) -> Option<DevicePlace> {
        if self.is_full(taken) {
            return None;
        }
        taken.places += 1;
        Some(DevicePlace { device: Arc::clone(self), is_counted: false })
    }

    /// Whether a process has to wait for another one of this program.
    fn is_full(&self, taken: &Taken) -> bool {
        let is_refused = |(places, until)| taken.places >= places && Instant::now() < until;
        self.places.is_some_and(|places| taken.places >= places)
            || taken.places > 0 && taken.refused.is_some_and(is_refused)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many workers run on the device, besides those that are starting.
    pub fn workers(&self) -> usize {
        self.workers.load(Ordering::Relaxed)
    }
}

impl DevicePlace {
    /// Counts the worker among those that run on the device.
    #[must_use]
    pub fn counted(mut self) -> Self {
        if !self.is_counted {
            self.is_counted = true;
            self.device.workers.fetch_add(1, Ordering::Relaxed);
        }
        self
    }

    /// Whether it is a place on `device`.
    pub fn is_on(&self, device: &Device) -> bool {
        std::ptr::eq(&raw const *self.device, device)
    }
}

impl Drop for DevicePlace {
    fn drop(&mut self) {
        if self.is_counted {
            self.device.workers.fetch_sub(1, Ordering::Relaxed);
        }
        self.device.taken().places -= 1;
        self.device.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicBool, thread};

    use super::*;

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_mins(1);

    fn never() -> bool {
        false
    }

    #[test]
    fn full_device_takes_a_worker_once_another_leaves() {
        let device = Arc::new(Device::new(None, Some(2)));
        let places = [device.try_enter(), device.try_enter()].map(Option::unwrap);
        assert!(device.try_enter().is_none() && device.enter(never, SHORT).is_none());
        let waiting = Arc::clone(&device);
        let entered = thread::spawn(move || waiting.enter(never, LONG).is_some());
        drop(places);
        assert!(entered.join().unwrap());
    }

    #[test]
    fn full_device_is_made_room_on() {
        let device = Arc::new(Device::new(None, Some(1)));
        let idle = Mutex::new(device.try_enter());
        let make_room = || idle.lock().unwrap().take().is_some();
        assert!(device.enter(make_room, LONG).is_some());
        assert!(device.enter(make_room, SHORT).is_some(), "the place was left");
    }

    #[test]
    fn device_that_refuses_a_process_is_full_while_others_of_this_program_use_it() {
        let device = Arc::new(Device::new(None, Some(8)));
        let [one, another] = [device.try_enter(), device.try_enter()].map(Option::unwrap);
        device.record_refusal();
        assert!(device.enter(never, SHORT).is_none());
        drop(one);
        let one = device.try_enter().unwrap();
        assert!(device.try_enter().is_none(), "it serves two");
        drop((one, another));
        device.record_refusal();
        assert!(device.try_enter().is_some(), "waiting for oneself does not help");
    }

    #[test]
    fn only_workers_that_have_started_are_counted() {
        let device = Arc::new(Device::new(None, None));
        let place = device.try_enter().unwrap();
        assert_eq!(device.workers(), 0);
        let place = place.counted().counted();
        assert_eq!(device.workers(), 1);
        drop(place);
        assert_eq!(device.workers(), 0);
        let has_looked = AtomicBool::new(false);
        let look = || !has_looked.swap(true, Ordering::Relaxed);
        assert!(
            device.enter(look, SHORT).is_some() && !has_looked.into_inner(),
            "there is room for any number"
        );
    }
}
