use std::{
    fmt,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use super::{CudaError, clock::Moment};

/// Attributes and devices beyond these are always asked for: CUDA 13 numbers its attributes up to 150.
const ATTRIBUTE_COUNT: usize = 256;
const DEVICE_COUNT: usize = 16;
/// `CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT` and `CU_DEVICE_ATTRIBUTE_COMPUTE_MODE`: a display that is attached, or an
/// administrator, changes them while processes run. TensorRT asks for them some two hundred times a build, and the first takes
/// 8 µs where others take one.
const CHANGEABLE: [i32; 2] = [17, 20];
/// How long an answer holds that may change.
const LIFETIME: Duration = Duration::from_secs(10);
/// One answer from memory in this many is compared with the driver's.
const SAMPLE: u64 = 1024;

/// What `cuDeviceGetAttribute` is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// A `CUdevice_attribute`.
    pub attribute: i32,
    /// A `CUdevice`.
    pub device: i32,
}

/// The driver's answers so far, each remembered once it succeeded.
///
/// Lock-free: an answer, whether there is one and since when are one word, and whoever writes a word writes what the driver
/// said.
pub struct Attributes {
    /// The answer's bits, `KNOWN`, and the milliseconds of its moment; 0 before there is one.
    answers: [[AtomicU64; ATTRIBUTE_COUNT]; DEVICE_COUNT],
    verify: AtomicBool,
    asked: AtomicU64,
    answered_by_driver: AtomicU64,
    compared: AtomicU64,
    changed: AtomicU64,
}

const KNOWN: u64 = 1 << 32;
/// Where the milliseconds begin, which are counted modulo 2³¹.
const MOMENT: u32 = 33;

/// What this process's libraries have asked so far.
pub static ATTRIBUTES: Attributes = Attributes::new();

/// How often the driver was needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Questions.
    pub asked: u64,
    /// Questions that the driver answered, those for comparison included.
    pub answered_by_driver: u64,
    /// Answers in memory that were compared with the driver's.
    pub compared: u64,
    /// Comparisons that found another answer.
    pub changed: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} device attributes asked for, {} answered by the driver, {} answers compared, {} changed",
            self.asked, self.answered_by_driver, self.compared, self.changed
        )
    }
}

impl Attributes {
    #[expect(clippy::large_stack_arrays, reason = "it becomes a static")]
    pub const fn new() -> Self {
        Self {
            answers: [const { [const { AtomicU64::new(0) }; ATTRIBUTE_COUNT] }; DEVICE_COUNT],
            verify: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            answered_by_driver: AtomicU64::new(0),
            compared: AtomicU64::new(0),
            changed: AtomicU64::new(0),
        }
    }

    /// Compares every answer with the driver's from now on, instead of a sample.
    pub fn verify(&self) {
        self.verify.store(true, Relaxed);
    }

    pub fn tally(&self) -> Tally {
        Tally {
            asked: self.asked.load(Relaxed),
            answered_by_driver: self.answered_by_driver.load(Relaxed),
            compared: self.compared.load(Relaxed),
            changed: self.changed.load(Relaxed),
        }
    }

    /// The answer in memory, or the one that `driver` gives at the moment that `clock` tells.
    pub fn answer(
        &self,
        question: Question,
        clock: impl Fn() -> Moment,
        driver: impl FnOnce() -> Result<i32, CudaError>,
    ) -> Result<i32, CudaError> {
        let number = self.asked.fetch_add(1, Relaxed);
        let place = self.place(question);
        let is_changeable = CHANGEABLE.contains(&question.attribute);
        let known = place.and_then(|place| known(place, is_changeable.then(&clock)));
        if let Some(answer) = known
            && !self.is_compared(number)
        {
            return Ok(answer);
        }
        self.answered_by_driver.fetch_add(1, Relaxed);
        let moment = if is_changeable { bits(clock()) } else { 0 };
        let answer = driver()?;
        if let Some(place) = place {
            place.store(moment | KNOWN | u64::from(answer.cast_unsigned()), Relaxed);
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
        number % SAMPLE == SAMPLE - 1 || self.verify.load(Relaxed)
    }

    fn place(&self, question: Question) -> Option<&AtomicU64> {
        let device = self.answers.get(usize::try_from(question.device).ok()?)?;
        device.get(usize::try_from(question.attribute).ok()?)
    }
}

const fn bits(moment: Moment) -> u64 {
    (moment.0.as_millis() as u64) << MOMENT
}

/// The answer in memory, unless there is none or it is too old `at` a moment that matters.
fn known(place: &AtomicU64, at: Option<Moment>) -> Option<i32> {
    let word = place.load(Relaxed);
    let is_fresh = at.is_none_or(|at| {
        let age = (bits(at) >> MOMENT).wrapping_sub(word >> MOMENT);
        u128::from(age) < LIFETIME.as_millis()
    });
    (word & KNOWN != 0 && is_fresh).then_some((word as u32).cast_signed())
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, time::Duration};

    use super::{super::CudaError, Attributes, CHANGEABLE, LIFETIME, Moment, Question, SAMPLE, Tally};

    const CLOCK_RATE: Question = Question { attribute: 13, device: 0 };

    fn start() -> Moment {
        Moment(Duration::ZERO)
    }

    #[test]
    fn the_driver_is_asked_once_for_each_attribute_of_each_device() {
        let attributes = Attributes::new();
        let asked = Cell::new(0);
        for _ in 0..10 {
            for device in 0..2 {
                for attribute in [1, 13, 255] {
                    let answer = attributes.answer(Question { attribute, device }, start, || {
                        asked.set(asked.get() + 1);
                        Ok(1000 * device + attribute)
                    });
                    assert_eq!(answer, Ok(1000 * device + attribute));
                }
            }
        }
        assert_eq!(asked.get(), 6);
        assert_eq!(attributes.tally(), Tally { asked: 60, answered_by_driver: 6, compared: 0, changed: 0 });
    }

    #[test]
    fn negative_answers_and_zero_are_answers() {
        let attributes = Attributes::new();
        for (attribute, answer) in [(1, 0), (2, -1), (3, i32::MIN), (4, i32::MAX)] {
            let question = Question { attribute, device: 0 };
            assert_eq!(attributes.answer(question, start, || Ok(answer)), Ok(answer));
            assert_eq!(attributes.answer(question, start, || panic!("asked twice")), Ok(answer));
        }
    }

    #[test]
    fn an_error_is_not_remembered() {
        let attributes = Attributes::new();
        assert_eq!(attributes.answer(CLOCK_RATE, start, || Err(CudaError(3))), Err(CudaError(3)));
        assert_eq!(attributes.answer(CLOCK_RATE, start, || Ok(1980)), Ok(1980));
    }

    #[test]
    fn what_may_change_is_asked_again_after_a_while() {
        let attributes = Attributes::new();
        let a_moment = Duration::from_millis(1);
        for attribute in CHANGEABLE {
            let answer = |after: Duration, answer: fn() -> i32| {
                let question = Question { attribute, device: 0 };
                attributes.answer(question, || Moment(after), || Ok(answer()))
            };
            assert_eq!(answer(a_moment, || 0), Ok(0));
            assert_eq!(answer(LIFETIME, || panic!("asked again")), Ok(0));
            assert_eq!(answer(LIFETIME + a_moment, || 1), Ok(1));
            assert_eq!(answer(2 * LIFETIME, || panic!("asked again")), Ok(1));
            // milliseconds are counted modulo 2³¹
            assert_eq!(answer(LIFETIME + Duration::from_millis(1 << 31), || 2), Ok(2));
        }
        assert_eq!(attributes.tally().compared, 0);
    }

    #[test]
    fn a_change_of_what_may_change_is_no_mistake() {
        let attributes = Attributes::new();
        attributes.verify();
        for answer in [0, 1] {
            let question = Question { attribute: CHANGEABLE[0], device: 0 };
            assert_eq!(attributes.answer(question, start, || Ok(answer)), Ok(answer));
        }
        assert_eq!(attributes.tally().changed, 0);
    }

    #[test]
    fn what_no_place_is_kept_for_is_always_asked() {
        let attributes = Attributes::new();
        for question in [(-1, 0), (256, 0), (1, -1), (1, 16), (i32::MAX, i32::MIN)] {
            let question = Question { attribute: question.0, device: question.1 };
            for answer in [1, 2] {
                assert_eq!(attributes.answer(question, start, || Ok(answer)), Ok(answer));
            }
        }
        assert_eq!(attributes.tally().compared, 0);
    }

    #[test]
    fn a_sample_is_compared_and_a_change_is_counted_and_taken_over() {
        let attributes = Attributes::new();
        for _ in 1..SAMPLE {
            assert_eq!(attributes.answer(CLOCK_RATE, start, || Ok(1980)), Ok(1980));
        }
        assert_eq!(attributes.tally().compared, 0);
        assert_eq!(attributes.answer(CLOCK_RATE, start, || Ok(1755)), Ok(1755));
        assert_eq!(attributes.answer(CLOCK_RATE, start, || panic!("known")), Ok(1755));
        let tally = attributes.tally();
        assert_eq!((tally.compared, tally.changed), (1, 1));
    }

    #[test]
    fn verifying_compares_every_answer() {
        let attributes = Attributes::new();
        attributes.verify();
        for answer in [1980, 1980, 1755, 1755] {
            assert_eq!(attributes.answer(CLOCK_RATE, start, || Ok(answer)), Ok(answer));
        }
        let tally = attributes.tally();
        assert_eq!((tally.answered_by_driver, tally.compared, tally.changed), (4, 3, 1));
    }
}
