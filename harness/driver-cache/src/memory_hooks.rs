//! Whether hooks for memory and events are handed out besides those for attributes.

use std::sync::atomic::{AtomicBool, Ordering};

static ENABLED: AtomicBool = AtomicBool::new(false);

/// Hands out the hooks for memory and events from now on.
pub fn enable() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// Whether the hooks for memory and events are handed out.
pub fn are_enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}
