use std::rc::Rc;

use crate::{
    HostMemory, Library, Result,
    owned::Owned,
    sys::table::{IHostMemory, ITimingCache},
};

/// Tactic timings that a later build can reuse.
///
/// Configurations refer to it without copying it, so a builder keeps every cache alive that one of its
/// configurations was given.
#[derive(Clone, Debug)]
pub struct TimingCache {
    raw: Rc<Owned<ITimingCache>>,
}

impl TimingCache {
    pub(crate) fn new(library: Library, raw: ITimingCache) -> Self {
        Self { raw: Rc::new(Owned::new(library, raw)) }
    }

    pub(crate) fn raw(&self) -> ITimingCache {
        self.raw.raw()
    }

    /// The cache as bytes.
    pub fn serialize(&self) -> Result<Vec<u8>> {
        serialize(self.raw.library(), self.raw())
    }

    /// Adds another cache's timings; TensorRT refuses one of another release or, unless told to, another device.
    pub fn combine(&self, other: &TimingCache, ignore_mismatch: bool) -> Result<()> {
        self.raw.library().expect_true("ITimingCache::combine", || {
            // SAFETY: both caches are live.
            unsafe { self.raw().combine(other.raw().0.as_ptr(), ignore_mismatch) }
        })
    }

    /// Forgets every timing.
    pub fn reset(&self) -> Result<()> {
        // SAFETY: the cache is live.
        self.raw.library().expect_true("ITimingCache::reset", || unsafe { self.raw().reset() })
    }
}

/// A live cache as bytes.
pub fn serialize(library: Library, cache: ITimingCache) -> Result<Vec<u8>> {
    let raw = library.expect("ITimingCache::serialize", || {
        // SAFETY: the cache is live; the memory returned is the caller's.
        let raw = unsafe { cache.serialize()? };
        Ok(IHostMemory::new(library.version(), raw))
    })?;
    Ok(HostMemory::new(library, raw).to_vec())
}
