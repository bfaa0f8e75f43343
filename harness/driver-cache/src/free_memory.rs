use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use super::{CudaError, blocks::Context, clock::Moment};

/// How long an answer holds: other processes change it at any time.
const LIFETIME: Duration = Duration::from_secs(1);

/// What `cuMemGetInfo` answers, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    pub free: usize,
    pub total: usize,
}

/// How much device memory is free, as the driver said within the last second. TensorRT asks about ten times a build, and each
/// question waits for the lock of the driver's resource manager.
pub struct FreeMemory {
    answers: Mutex<BTreeMap<Context, (Moment, Info)>>,
}

/// The device memory of this process's contexts.
pub static FREE_MEMORY: FreeMemory = FreeMemory::new();

impl FreeMemory {
    pub const fn new() -> Self {
        Self { answers: Mutex::new(BTreeMap::new()) }
    }

    /// The last answer in `context`, or the one that `driver` gives at the moment that `clock` tells.
    pub fn answer(
        &self,
        context: Context,
        clock: impl Fn() -> Moment,
        driver: impl FnOnce() -> Result<Info, CudaError>,
    ) -> Result<Info, CudaError> {
        let now = clock();
        let known = self.answers.lock().unwrap_or_else(PoisonError::into_inner).get(&context).copied();
        if let Some((then, info)) = known
            && now.0.saturating_sub(then.0) < LIFETIME
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
    fn an_answer_holds_for_a_second_in_its_context() {
        let memory = FreeMemory::new();
        let ask = |context, millis, free| {
            let info = Info { free, total: 100 };
            let clock = || Moment(Duration::from_millis(millis));
            memory.answer(context, clock, || Ok(info)).map(|info| info.free)
        };
        assert_eq!(ask(CONTEXT, 5000, 1), Ok(1));
        assert_eq!(ask(CONTEXT, 5999, 2), Ok(1));
        assert_eq!(ask(Context(2), 5999, 3), Ok(3));
        assert_eq!(ask(CONTEXT, 6000, 4), Ok(4));
    }

    #[test]
    fn an_error_is_handed_on_and_not_remembered() {
        let memory = FreeMemory::new();
        let clock = || Moment(Duration::ZERO);
        assert_eq!(memory.answer(CONTEXT, clock, || Err(CudaError(700))), Err(CudaError(700)));
        let info = Info { free: 1, total: 2 };
        assert_eq!(memory.answer(CONTEXT, clock, || Ok(info)), Ok(info));
    }
}
