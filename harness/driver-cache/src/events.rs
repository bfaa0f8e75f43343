//! Events without interrupts: how they are created and waited for.

use std::{hint, time::Duration};

use crate::{clock::Timestamp, driver::CudaError};

/// `CUDA_ERROR_NOT_READY`.
const NOT_READY: CudaError = CudaError(600);
/// `CU_EVENT_BLOCKING_SYNC`: an interrupt wakes the thread that waits for the event.
const BLOCKING_SYNC: u32 = 1;

/// How long an event is polled without a pause. A TensorRT build at level 0 waits 9 to 56 µs for one on average.
const SPIN_TIME: Duration = Duration::from_micros(100);
/// The longest pause between two polls.
const MAX_PAUSE: Duration = Duration::from_millis(1);
/// A pause is the time waited so far, divided by this.
const PAUSE_DIVISOR: u32 = 4;

/// Clears `CU_EVENT_BLOCKING_SYNC`, so that the device raises no interrupt when it reaches the event. An interrupt wakes a thread
/// of every process that uses the device, and a TensorRT build waits for about forty events.
pub const fn without_blocking_sync(flags: u32) -> u32 {
    flags & !BLOCKING_SYNC
}

/// Polls `query` until it returns anything but `CUDA_ERROR_NOT_READY`: without a pause at first, then with growing pauses, which
/// leave the processor to other threads as blocking synchronization would.
pub fn wait(
    query: impl Fn() -> Result<(), CudaError>,
    clock: impl Fn() -> Timestamp,
    mut sleep: impl FnMut(Duration),
) -> Result<(), CudaError> {
    let start = clock();
    loop {
        match query() {
            Err(NOT_READY) => {}
            answer => return answer,
        }
        let waited = clock().since(start);
        if waited < SPIN_TIME {
            hint::spin_loop();
        } else {
            sleep(MAX_PAUSE.min(waited / PAUSE_DIVISOR));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The pauses during the wait for an event that is reached after `micros` microseconds, if each poll takes ten.
    fn pauses(micros: u64) -> Vec<Duration> {
        let (now, mut pauses) = (Cell::new(Duration::ZERO), Vec::new());
        let query = || {
            now.set(now.get() + Duration::from_micros(10));
            if now.get() < Duration::from_micros(micros) { Err(NOT_READY) } else { Ok(()) }
        };
        let sleep = |pause| {
            now.set(now.get() + pause);
            pauses.push(pause);
        };
        assert_eq!(wait(query, || Timestamp(now.get()), sleep), Ok(()));
        pauses
    }

    #[test]
    fn short_wait_has_no_pause() {
        assert_eq!(pauses(100), []);
    }

    #[test]
    fn pauses_of_a_long_wait_grow_up_to_a_limit() {
        let pauses = pauses(20_000);
        assert_eq!(pauses[0], Duration::from_micros(25));
        assert!(pauses.is_sorted() && pauses.last() == Some(&MAX_PAUSE), "{pauses:?}");
        let polls = u32::try_from(pauses.len()).unwrap();
        assert!(pauses.iter().sum::<Duration>() > 10 * polls * Duration::from_micros(10), "{pauses:?}");
    }

    #[test]
    fn error_of_the_query_ends_the_wait() {
        let never = |_| panic!("the wait is over");
        let clock = || Timestamp(Duration::ZERO);
        assert_eq!(wait(|| Err(CudaError(700)), clock, never), Err(CudaError(700)));
    }

    #[test]
    fn only_the_flag_of_blocking_sync_is_cleared() {
        assert_eq!([0, 1, 2, 3, 7].map(without_blocking_sync), [0, 0, 2, 2, 6]);
    }
}
