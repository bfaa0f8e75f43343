use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Stage;

/// A changed guard byte: something wrote behind the end of a block of memory.
///
/// Guard bytes stand behind the blocks of variants with [`MemoryMode::Poison`](crate::MemoryMode::Poison).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutOfBoundsWrite {
    /// The stage in which the change was found.
    pub stage: Stage,
    /// Where the block lies.
    pub memory: MemoryKind,
    /// The size of the block in bytes, as it was requested.
    pub bytes: u64,
    /// The offset of the first changed byte from the start of the block, in bytes; at least [`bytes`](Self::bytes).
    pub offset: u64,
}

/// Where a block of memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryKind {
    /// On the device.
    Device,
    /// On the host, pinned, where the device can reach it.
    Host,
}

impl fmt::Display for OutOfBoundsWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory, bytes, offset, .. } = self;
        write!(
            f,
            "behind a block of {bytes} bytes of {memory} memory, the byte at offset {offset} was written"
        )
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device",
            Self::Host => "pinned host",
        })
    }
}
