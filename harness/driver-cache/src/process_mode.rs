//! The memory mode of this process: hooks are functions of the process and cannot treat two libraries differently.

use std::sync::OnceLock;

use twinfer_case::MemoryMode;

use crate::AttachError;

static MODE: OnceLock<MemoryMode> = OnceLock::new();

/// Sets the mode for all libraries that this process attaches; an error if it is another one already.
pub fn set(mode: MemoryMode) -> Result<(), AttachError> {
    let set = *MODE.get_or_init(|| mode);
    if set == mode { Ok(()) } else { Err(AttachError::OtherMode { wanted: mode, set }) }
}

/// Whether the hooks for memory and events are handed out, besides those for attributes.
pub fn hooks_memory_and_events() -> bool {
    match MODE.get() {
        None | Some(MemoryMode::Off | MemoryMode::Attributes | MemoryMode::Poison(_)) => false,
        Some(MemoryMode::Keep) => true,
    }
}
