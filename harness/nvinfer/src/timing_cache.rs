use std::rc::Rc;

use crate::{
    HostMemory, Library, Result,
    owned::Owned,
    sys::table::{IHostMemory, ITimingCache},
};

/// Tactic timings that a later build can reuse.
///
/// A configuration refers to its cache without copying it, so a builder keeps alive every cache that was set on one
/// of its configurations.
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

    /// Serializes the cache.
    pub fn serialize(&self) -> Result<Vec<u8>> {
        serialize(self.raw.library(), self.raw())
    }

    /// Adds the timings of another cache. TensorRT refuses a cache of another release and, without `ignore_mismatch`,
    /// of another device.
    pub fn combine(&self, other: &TimingCache, ignore_mismatch: bool) -> Result<()> {
        self.raw.library().expect_true("ITimingCache::combine", || {
            // SAFETY: both caches are live.
            unsafe { self.raw().combine(other.raw().0.as_ptr(), ignore_mismatch) }
        })
    }

    /// Removes every timing.
    pub fn reset(&self) -> Result<()> {
        // SAFETY: the cache is live.
        self.raw.library().expect_true("ITimingCache::reset", || unsafe { self.raw().reset() })
    }
}

/// Serializes a live cache.
pub fn serialize(library: Library, cache: ITimingCache) -> Result<Vec<u8>> {
    let raw = library.expect("ITimingCache::serialize", || {
        // SAFETY: the cache is live; the memory returned is the caller's.
        let raw = unsafe { cache.serialize()? };
        Ok(IHostMemory::new(library.version(), raw))
    })?;
    Ok(HostMemory::new(library, raw).to_vec())
}
