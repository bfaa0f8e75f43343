use twinfer_case::{MemoryKind, MemoryMode, OutOfBoundsWrite, PoisonPattern, Stage};

/// The number of guard bytes behind a buffer.
const GUARD_BYTES: usize = 4096;

/// Guard bytes behind the buffers that an engine reads and writes, if the variant's memory is poisoned. The driver cache does not see
/// these buffers, because no library of TensorRT allocates them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard(Option<PoisonPattern>);

impl Guard {
    /// The guard of a variant with this memory.
    pub const fn of(memory: MemoryMode) -> Self {
        match memory {
            MemoryMode::Poison(pattern) => Self(Some(pattern)),
            MemoryMode::Off | MemoryMode::Attributes | MemoryMode::Keep => Self(None),
        }
    }

    /// Whether there are guard bytes.
    pub const fn is_set(self) -> bool {
        self.0.is_some()
    }

    /// Adds guard bytes behind the contents of a buffer.
    pub fn extend(self, contents: &mut Vec<u8>) {
        contents.extend(self.bytes());
    }

    /// The change of the guard bytes of a buffer, which are its last.
    pub fn change(self, buffer: &[u8]) -> Option<OutOfBoundsWrite> {
        let end = buffer.len().checked_sub(self.bytes().count())?;
        let place = buffer[end..].iter().zip(self.bytes()).position(|(found, guard)| *found != guard)?;
        Some(OutOfBoundsWrite {
            stage: Stage::Execute,
            memory: MemoryKind::Device,
            bytes: end as u64,
            offset: (end + place) as u64,
        })
    }

    fn bytes(self) -> impl Iterator<Item = u8> {
        let pattern = self.0.map(PoisonPattern::bytes);
        pattern.into_iter().flat_map(|pattern| pattern.into_iter().cycle().take(GUARD_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_guard_byte_is_found_at_its_offset() {
        let guard = Guard::of(MemoryMode::Poison(PoisonPattern::Large));
        let mut buffer = vec![1, 2, 3];
        guard.extend(&mut buffer);
        assert_eq!((buffer.len(), guard.change(&buffer)), (3 + GUARD_BYTES, None));
        buffer[5] = 0;
        let change = guard.change(&buffer).expect("it is found");
        assert_eq!((change.bytes, change.offset), (3, 5));
    }

    #[test]
    fn other_memory_has_no_guard_bytes() {
        let mut buffer = vec![1, 2, 3];
        let guard = Guard::of(MemoryMode::Keep);
        guard.extend(&mut buffer);
        assert_eq!((buffer.len(), guard.change(&buffer), guard.is_set()), (3, None, false));
    }
}
