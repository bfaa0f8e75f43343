//! Whether the mode of this process is in force: hooks are handed out only when a library looks up the driver's functions.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use twinfer_case::MemoryMode;

/// Why the memory mode of this process is not in force, although its libraries are attached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotInForce {
    /// A function that hooks call was not found, so no hook for memory or events is handed out.
    #[error(
        "memory={mode} is not in force: the CUDA driver's {function} is not found; use a newer driver, or memory=attributes"
    )]
    Missing {
        /// The mode.
        mode: MemoryMode,
        /// The function.
        function: &'static str,
    },
    /// Libraries found a function of the driver at two addresses, and a hook stands in for one of them only.
    #[error(
        "memory={mode} is not in force: libraries of this process find functions of the CUDA driver at two addresses; \
         use memory=attributes"
    )]
    Ambiguous {
        /// The mode.
        mode: MemoryMode,
    },
}

static AMBIGUOUS: AtomicBool = AtomicBool::new(false);

/// Records that a function of the driver was found at a second address.
pub fn record_second_address() {
    AMBIGUOUS.store(true, Relaxed);
}

/// Whether `mode` is in force if this function, or none, is `missing` from the driver.
///
/// Where no hook answers, the driver does. That makes `attributes` and `keep` slower at worst, but keeps no promise of `poison`; and without
/// the hooks for memory, `keep` is another mode.
pub fn check(mode: MemoryMode, missing: Option<&'static str>) -> Result<(), NotInForce> {
    let is_poisoned = match mode {
        MemoryMode::Off | MemoryMode::Attributes => return Ok(()),
        MemoryMode::Keep => false,
        MemoryMode::Poison(_) => true,
    };
    match missing {
        Some(function) => Err(NotInForce::Missing { mode, function }),
        None if is_poisoned && AMBIGUOUS.load(Relaxed) => Err(NotInForce::Ambiguous { mode }),
        None => Ok(()),
    }
}
