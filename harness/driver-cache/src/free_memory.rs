//! The amount of free device memory, requested at most once a second.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::{
    clock::Timestamp,
    driver::{Context, CudaError},
};

/// How long an answer is used: other processes allocate and free at any time.
const LIFETIME: Duration = Duration::from_secs(1);

/// The result of `cuMemGetInfo`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    pub free: usize,
    pub total: usize,
}

/// The amount of free device memory, at most a second old. TensorRT requests it about ten times a build, and each request waits for
/// the lock of the driver's resource manager.
pub struct FreeMemory {
    answers: Mutex<BTreeMap<Context, (Timestamp, MemoryInfo)>>,
}

/// The free memory as seen from this process's contexts.
pub static FREE_MEMORY: FreeMemory = FreeMemory::new();

impl FreeMemory {
    pub const fn new() -> Self {
        Self { answers: Mutex::new(BTreeMap::new()) }
    }

    /// Returns the recent answer in `context`, or else the answer of `driver`.
    pub fn get(
        &self,
        context: Context,
        clock: impl Fn() -> Timestamp,
        driver: impl FnOnce() -> Result<MemoryInfo, CudaError>,
    ) -> Result<MemoryInfo, CudaError> {
        let now = clock();
        let known = self.answers.lock().unwrap_or_else(PoisonError::into_inner).get(&context).copied();
        if let Some((then, info)) = known
            && now.since(then) < LIFETIME
        {
            return Ok(info);
        }
        let info = driver()?;
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).insert(context, (now, info));
        Ok(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: Context = Context(1);

    #[test]
    fn answer_is_used_for_a_second_in_its_context() {
        let memory = FreeMemory::new();
        let ask = |context, millis, free| {
            let info = MemoryInfo { free, total: 100 };
            let clock = || Timestamp(Duration::from_millis(millis));
            memory.get(context, clock, || Ok(info)).map(|info| info.free)
        };
        assert_eq!(ask(CONTEXT, 5000, 1), Ok(1));
        assert_eq!(ask(CONTEXT, 5999, 2), Ok(1));
        assert_eq!(ask(Context(2), 5999, 3), Ok(3));
        assert_eq!(ask(CONTEXT, 6000, 4), Ok(4));
    }

    #[test]
    fn error_is_returned_and_not_cached() {
        let memory = FreeMemory::new();
        let clock = || Timestamp(Duration::ZERO);
        assert_eq!(memory.get(CONTEXT, clock, || Err(CudaError(700))), Err(CudaError(700)));
        let info = MemoryInfo { free: 1, total: 2 };
        assert_eq!(memory.get(CONTEXT, clock, || Ok(info)), Ok(info));
    }
}
