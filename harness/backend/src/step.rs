use std::time::Instant;

use tracing::debug;

/// Does one step of opening a backend, and logs its name and time.
pub fn step<T, E>(name: &'static str, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let begun = Instant::now();
    let result = work();
    debug!(step = name, millis = begun.elapsed().as_millis() as u64, ok = result.is_ok(), "opening backend");
    result
}
