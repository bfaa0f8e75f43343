use std::cell::RefCell;

use crate::{
    Library, Result, TimingCache,
    owned::Owned,
    sys::{export, table::IBuilder},
};

/// Creates networks and configurations, and builds plans from them.
#[derive(Debug)]
pub struct Builder {
    // In this order: the caches outlive the builder.
    raw: Owned<IBuilder>,
    timing_caches: RefCell<Vec<TimingCache>>,
}

impl Library {
    /// Creates a builder. TensorRT needs a GPU for that; TensorRT-RTX does not.
    pub fn create_builder(self) -> Result<Builder> {
        let call = "createInferBuilder";
        let raw = self.create(call, &export::CREATE_INFER_BUILDER)?;
        let raw = IBuilder::new(self.version(), raw.1).ok_or_else(|| self.refused(call, raw.0))?;
        Ok(Builder { raw: Owned::new(self, raw), timing_caches: RefCell::default() })
    }
}

impl Builder {
    /// The library that made this builder.
    pub fn library(&self) -> Library {
        self.raw.library()
    }

    pub(crate) fn raw(&self) -> IBuilder {
        self.raw.raw()
    }

    /// Keeps a timing cache alive as long as the builder.
    pub(crate) fn keep(&self, cache: &TimingCache) {
        let mut kept = self.timing_caches.borrow_mut();
        if !kept.iter().any(|other| other.raw() == cache.raw()) {
            kept.push(cache.clone());
        }
    }

    /// Whether the GPU has fast FP16 arithmetic; until TensorRT 10.
    pub fn platform_has_fast_fp16(&self) -> Result<bool> {
        // SAFETY: the builder is live.
        Ok(unsafe { self.raw().platform_has_fast_fp16()? })
    }

    /// Whether the GPU has fast INT8 arithmetic; until TensorRT 10.
    pub fn platform_has_fast_int8(&self) -> Result<bool> {
        // SAFETY: the builder is live.
        Ok(unsafe { self.raw().platform_has_fast_int8()? })
    }

    /// Whether the GPU supports TF32; until TensorRT 10.
    pub fn platform_has_tf32(&self) -> Result<bool> {
        // SAFETY: the builder is live.
        Ok(unsafe { self.raw().platform_has_tf32()? })
    }

    /// Sets the largest number of threads that a build may use.
    pub fn set_max_threads(&self, threads: u32) -> Result<()> {
        let threads = i32::try_from(threads).unwrap_or(i32::MAX);
        // SAFETY: the builder is live.
        self.library()
            .expect_true("IBuilder::setMaxThreads", || unsafe { self.raw().set_max_threads(threads) })
    }

    /// The largest number of threads that a build may use.
    pub fn max_threads(&self) -> Result<u32> {
        // SAFETY: the builder is live.
        Ok(unsafe { self.raw().get_max_threads()? }.unsigned_abs())
    }
}
