use std::{hint, time::Duration};

use super::{CudaError, clock::Moment};

/// `CUDA_ERROR_NOT_READY`.
const NOT_READY: CudaError = CudaError(600);
/// `CU_EVENT_BLOCKING_SYNC`: whoever waits for the event is woken by an interrupt.
const BLOCKING_SYNC: u32 = 1;

/// How long an event is asked about without a pause: a build at level 0 waits 9 to 56 µs for one, on average.
const AT_ONCE: Duration = Duration::from_micros(100);
/// The longest pause between two questions.
const LONGEST: Duration = Duration::from_millis(1);
/// A pause is this part of what was waited before.
const PART: u32 = 4;

/// How an event is created for `flags` so that the device raises no interrupt when it is reached. An interrupt wakes a thread of
/// every process that uses the device, and a build waits for about forty events.
pub const fn without_interrupt(flags: u32) -> u32 {
    flags & !BLOCKING_SYNC
}

/// Waits for an event as `query` tells: without a pause at first, and then with longer and longer ones, which leave the
/// processor to others as an interrupt would.
pub fn wait(
    query: impl Fn() -> Result<(), CudaError>,
    clock: impl Fn() -> Moment,
    mut rest: impl FnMut(Duration),
) -> Result<(), CudaError> {
    let begun = clock();
    loop {
        match query() {
            Err(NOT_READY) => {}
            answer => return answer,
        }
        let waited = clock().0.saturating_sub(begun.0);
        if waited < AT_ONCE {
            hint::spin_loop();
        } else {
            rest(LONGEST.min(waited / PART));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The pauses while an event is waited for that is reached after `micros`, where a question takes ten.
    fn pauses(micros: u64) -> Vec<Duration> {
        let (now, mut pauses) = (Cell::new(Duration::ZERO), Vec::new());
        let query = || {
            now.set(now.get() + Duration::from_micros(10));
            if now.get() < Duration::from_micros(micros) { Err(NOT_READY) } else { Ok(()) }
        };
        let rest = |pause| {
            now.set(now.get() + pause);
            pauses.push(pause);
        };
        assert_eq!(wait(query, || Moment(now.get()), rest), Ok(()));
        pauses
    }

    #[test]
    fn a_short_kernel_is_waited_for_without_a_pause() {
        assert_eq!(pauses(100), []);
    }

    #[test]
    fn a_long_one_is_asked_about_less_and_less_often() {
        let pauses = pauses(20_000);
        assert_eq!(pauses[0], Duration::from_micros(25));
        assert!(pauses.is_sorted() && pauses.last() == Some(&LONGEST), "{pauses:?}");
        let asked = u32::try_from(pauses.len()).unwrap();
        assert!(pauses.iter().sum::<Duration>() > 10 * asked * Duration::from_micros(10), "{pauses:?}");
    }

    #[test]
    fn what_else_the_driver_answers_ends_the_wait() {
        let never = |_| panic!("nothing to wait for");
        let clock = || Moment(Duration::ZERO);
        assert_eq!(wait(|| Err(CudaError(700)), clock, never), Err(CudaError(700)));
    }

    #[test]
    fn of_the_flags_of_an_event_only_that_of_interrupts_goes() {
        assert_eq!([0, 1, 2, 3, 7].map(without_interrupt), [0, 0, 2, 2, 6]);
    }
}
