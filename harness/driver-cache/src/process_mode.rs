//! The memory mode of this process: hooks are functions of the process and cannot treat two libraries differently.

use std::sync::OnceLock;

use twinfer_case::{MemoryMode, PoisonPattern};

use crate::AttachError;

static MODE: OnceLock<MemoryMode> = OnceLock::new();

/// Sets the mode for all libraries that this process attaches; an error if it is another one already.
pub fn set(mode: MemoryMode) -> Result<(), AttachError> {
    let set = *MODE.get_or_init(|| mode);
    if set == mode { Ok(()) } else { Err(AttachError::OtherMode { wanted: mode, set }) }
}

/// The mode; `None` before a library is attached.
pub fn get() -> Option<MemoryMode> {
    MODE.get().copied()
}

/// What memory is filled with; `None` unless the mode is [`MemoryMode::Poison`].
pub fn pattern() -> Option<PoisonPattern> {
    match get() {
        Some(MemoryMode::Poison(pattern)) => Some(pattern),
        None | Some(MemoryMode::Off | MemoryMode::Attributes | MemoryMode::Keep) => None,
    }
}
