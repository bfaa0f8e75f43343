//! Device attributes, requested from the driver once each.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use crate::{clock::Timestamp, driver::CudaError, tally::AttributeTally};

/// The cached attributes and devices are those below these numbers. CUDA 13 numbers its attributes up to 150.
const ATTRIBUTE_COUNT: usize = 256;
const DEVICE_COUNT: usize = 16;
/// `CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT` and `CU_DEVICE_ATTRIBUTE_COMPUTE_MODE`, which attaching a display or an administrator
/// changes while processes run. TensorRT requests them about two hundred times a build, and the first takes 8 µs instead of
/// one.
const CHANGEABLE: [i32; 2] = [17, 20];
/// How long the answer for a changeable attribute is used.
const LIFETIME: Duration = Duration::from_secs(10);
/// One in so many cached answers is compared with the driver's.
const SAMPLE: u64 = 1024;

/// The arguments of `cuDeviceGetAttribute`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributeRequest {
    /// A `CUdevice_attribute`.
    pub attribute: i32,
    /// A `CUdevice`.
    pub device: i32,
}

/// The driver's successful answers so far.
///
/// Lock-free: the answer, whether there is one, and its time share one word, which is only ever written as the driver has just
/// answered.
pub struct AttributeCache {
    /// The bits of the answer, [`KNOWN`], and the milliseconds of its time; 0 before there is an answer.
    answers: [[AtomicU64; ATTRIBUTE_COUNT]; DEVICE_COUNT],
    compares_all: AtomicBool,
    asked: AtomicU64,
    answered_by_driver: AtomicU64,
    compared: AtomicU64,
    changed: AtomicU64,
}

const KNOWN: u64 = 1 << 32;
/// The position of the milliseconds, which are counted modulo 2³¹.
const MILLISECONDS: u32 = 33;

/// The attributes of this process's devices.
pub static ATTRIBUTES: AttributeCache = AttributeCache::new();

impl AttributeCache {
    #[expect(clippy::large_stack_arrays, reason = "it becomes a static")]
    pub const fn new() -> Self {
        Self {
            answers: [const { [const { AtomicU64::new(0) }; ATTRIBUTE_COUNT] }; DEVICE_COUNT],
            compares_all: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            answered_by_driver: AtomicU64::new(0),
            compared: AtomicU64::new(0),
            changed: AtomicU64::new(0),
        }
    }

    /// Compares every cached answer with the driver's from now on, instead of a sample.
    pub fn compare_all(&self) {
        self.compares_all.store(true, Relaxed);
    }

    /// Returns the requests so far.
    pub fn tally(&self) -> AttributeTally {
        AttributeTally {
            asked: self.asked.load(Relaxed),
            answered_by_driver: self.answered_by_driver.load(Relaxed),
            compared: self.compared.load(Relaxed),
            changed: self.changed.load(Relaxed),
        }
    }

    /// Returns the cached answer, or else the answer of `driver`, which is cached with the time of `clock`.
    pub fn get(
        &self,
        request: AttributeRequest,
        clock: impl Fn() -> Timestamp,
        driver: impl FnOnce() -> Result<i32, CudaError>,
    ) -> Result<i32, CudaError> {
        let number = self.asked.fetch_add(1, Relaxed);
        let word = self.word(request);
        let is_changeable = CHANGEABLE.contains(&request.attribute);
        let known = word.and_then(|word| cached(word, is_changeable.then(&clock)));
        if let Some(answer) = known
            && !self.is_compared(number)
        {
            return Ok(answer);
        }
        self.answered_by_driver.fetch_add(1, Relaxed);
        let time = if is_changeable { bits(clock()) } else { 0 };
        let answer = driver()?;
        if let Some(word) = word {
            word.store(time | KNOWN | u64::from(answer.cast_unsigned()), Relaxed);
        }
        if let Some(known) = known.filter(|_| !is_changeable) {
            self.compare(known, answer);
        }
        Ok(answer)
    }

    fn compare(&self, known: i32, answer: i32) {
        self.compared.fetch_add(1, Relaxed);
        if known != answer {
            self.changed.fetch_add(1, Relaxed);
        }
    }

    fn is_compared(&self, number: u64) -> bool {
        number % SAMPLE == SAMPLE - 1 || self.compares_all.load(Relaxed)
    }

    fn word(&self, request: AttributeRequest) -> Option<&AtomicU64> {
        let device = self.answers.get(usize::try_from(request.device).ok()?)?;
        device.get(usize::try_from(request.attribute).ok()?)
    }
}

const fn bits(time: Timestamp) -> u64 {
    (time.0.as_millis() as u64) << MILLISECONDS
}

/// Returns the cached answer; `None` if there is none, or if it has expired at the time `now` of a changeable attribute.
fn cached(word: &AtomicU64, now: Option<Timestamp>) -> Option<i32> {
    let word = word.load(Relaxed);
    let is_fresh = now.is_none_or(|now| {
        let age = (bits(now) >> MILLISECONDS).wrapping_sub(word >> MILLISECONDS);
        u128::from(age) < LIFETIME.as_millis()
    });
    (word & KNOWN != 0 && is_fresh).then_some((word as u32).cast_signed())
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, time::Duration};

    use super::{
        AttributeCache, AttributeRequest, AttributeTally, CHANGEABLE, CudaError, LIFETIME, SAMPLE, Timestamp,
    };

    const CLOCK_RATE: AttributeRequest = AttributeRequest { attribute: 13, device: 0 };

    fn start() -> Timestamp {
        Timestamp(Duration::ZERO)
    }

    #[test]
    fn each_attribute_of_each_device_is_requested_once() {
        let attributes = AttributeCache::new();
        let asked = Cell::new(0);
        for _ in 0..10 {
            for device in 0..2 {
                for attribute in [1, 13, 255] {
                    let answer = attributes.get(AttributeRequest { attribute, device }, start, || {
                        asked.set(asked.get() + 1);
                        Ok(1000 * device + attribute)
                    });
                    assert_eq!(answer, Ok(1000 * device + attribute));
                }
            }
        }
        assert_eq!(asked.get(), 6);
        assert_eq!(
            attributes.tally(),
            AttributeTally { asked: 60, answered_by_driver: 6, compared: 0, changed: 0 }
        );
    }

    #[test]
    fn negative_answers_and_zero_are_cached() {
        let attributes = AttributeCache::new();
        for (attribute, answer) in [(1, 0), (2, -1), (3, i32::MIN), (4, i32::MAX)] {
            let request = AttributeRequest { attribute, device: 0 };
            assert_eq!(attributes.get(request, start, || Ok(answer)), Ok(answer));
            assert_eq!(attributes.get(request, start, || panic!("requested twice")), Ok(answer));
        }
    }

    #[test]
    fn error_is_not_cached() {
        let attributes = AttributeCache::new();
        assert_eq!(attributes.get(CLOCK_RATE, start, || Err(CudaError(3))), Err(CudaError(3)));
        assert_eq!(attributes.get(CLOCK_RATE, start, || Ok(1980)), Ok(1980));
    }

    #[test]
    fn changeable_attribute_is_requested_again_after_its_lifetime() {
        let attributes = AttributeCache::new();
        let millisecond = Duration::from_millis(1);
        for attribute in CHANGEABLE {
            let answer = |after: Duration, answer: fn() -> i32| {
                let request = AttributeRequest { attribute, device: 0 };
                attributes.get(request, || Timestamp(after), || Ok(answer()))
            };
            assert_eq!(answer(millisecond, || 0), Ok(0));
            assert_eq!(answer(LIFETIME, || panic!("requested too early")), Ok(0));
            assert_eq!(answer(LIFETIME + millisecond, || 1), Ok(1));
            assert_eq!(answer(2 * LIFETIME, || panic!("requested too early")), Ok(1));
            // milliseconds are counted modulo 2³¹
            assert_eq!(answer(LIFETIME + Duration::from_millis(1 << 31), || 2), Ok(2));
        }
        assert_eq!(attributes.tally().compared, 0);
    }

    #[test]
    fn new_value_of_a_changeable_attribute_is_no_change() {
        let attributes = AttributeCache::new();
        attributes.compare_all();
        for answer in [0, 1] {
            let request = AttributeRequest { attribute: CHANGEABLE[0], device: 0 };
            assert_eq!(attributes.get(request, start, || Ok(answer)), Ok(answer));
        }
        assert_eq!(attributes.tally().changed, 0);
    }

    #[test]
    fn requests_outside_the_cache_always_reach_the_driver() {
        let attributes = AttributeCache::new();
        for request in [(-1, 0), (256, 0), (1, -1), (1, 16), (i32::MAX, i32::MIN)] {
            let request = AttributeRequest { attribute: request.0, device: request.1 };
            for answer in [1, 2] {
                assert_eq!(attributes.get(request, start, || Ok(answer)), Ok(answer));
            }
        }
        assert_eq!(attributes.tally().compared, 0);
    }

    #[test]
    fn sample_is_compared_and_a_change_is_counted_and_cached() {
        let attributes = AttributeCache::new();
        for _ in 1..SAMPLE {
            assert_eq!(attributes.get(CLOCK_RATE, start, || Ok(1980)), Ok(1980));
        }
        assert_eq!(attributes.tally().compared, 0);
        assert_eq!(attributes.get(CLOCK_RATE, start, || Ok(1755)), Ok(1755));
        assert_eq!(attributes.get(CLOCK_RATE, start, || panic!("the answer is cached")), Ok(1755));
        let tally = attributes.tally();
        assert_eq!((tally.compared, tally.changed), (1, 1));
    }

    #[test]
    fn compare_all_compares_every_answer() {
        let attributes = AttributeCache::new();
        attributes.compare_all();
        for answer in [1980, 1980, 1755, 1755] {
            assert_eq!(attributes.get(CLOCK_RATE, start, || Ok(answer)), Ok(answer));
        }
        let tally = attributes.tally();
        assert_eq!((tally.answered_by_driver, tally.compared, tally.changed), (4, 3, 1));
    }
}
