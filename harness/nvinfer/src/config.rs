use std::ptr;

use crate::{
    Availability, Builder, BuilderFlag, ComputeCapability, Error, Library, MemoryPoolType,
    OptimizationProfile, ProfilingVerbosity, Result, TacticSource, TimingCache,
    owned::Owned,
    sys::table::{IBuilderConfig, ITimingCache, releases_with},
};

/// The settings with which an engine is built.
#[derive(Debug)]
pub struct BuilderConfig<'b> {
    raw: Owned<IBuilderConfig>,
    builder: &'b Builder,
}

impl Builder {
    /// Creates a configuration with the library's defaults.
    pub fn create_config(&self) -> Result<BuilderConfig<'_>> {
        let raw = self.library().expect("IBuilder::createBuilderConfig", || {
            // SAFETY: the builder is live.
            let raw = unsafe { self.raw().create_builder_config()? };
            Ok(IBuilderConfig::new(self.library().version(), raw))
        })?;
        Ok(BuilderConfig::new(self, raw))
    }
}

impl<'b> BuilderConfig<'b> {
    pub(crate) fn new(builder: &'b Builder, raw: IBuilderConfig) -> Self {
        Self { raw: Owned::new(builder.library(), raw), builder }
    }

    pub(crate) fn raw(&self) -> IBuilderConfig {
        self.raw.raw()
    }

    pub(crate) fn builder(&self) -> &'b Builder {
        self.builder
    }

    fn library(&self) -> Library {
        self.raw.library()
    }

    /// Sets or clears a flag.
    pub fn set_flag(&self, flag: BuilderFlag, on: bool) -> Result<()> {
        let value = flag.value(self.library().version())?;
        // SAFETY: the configuration is live; the flag is one of this release.
        unsafe { if on { self.raw().set_flag(value)? } else { self.raw().clear_flag(value)? } };
        Ok(())
    }

    /// Whether a flag is set.
    pub fn flag(&self, flag: BuilderFlag) -> Result<bool> {
        let value = flag.value(self.library().version())?;
        // SAFETY: the configuration is live; the flag is one of this release.
        Ok(unsafe { self.raw().get_flag(value)? })
    }

    /// The flags that are set.
    pub fn flags(&self) -> Result<Vec<BuilderFlag>> {
        // SAFETY: the configuration is live.
        let bits = unsafe { self.raw().get_flags()? };
        let version = self.library().version();
        let is_on = |flag: &BuilderFlag| flag.value(version).is_ok_and(|bit| bits >> bit & 1 == 1);
        Ok(BuilderFlag::ALL.iter().copied().filter(is_on).collect())
    }

    /// Restores the library's defaults, and removes all optimization profiles.
    pub fn reset(&self) -> Result<()> {
        // SAFETY: the configuration is live.
        unsafe { self.raw().reset() }.map_err(Error::from)
    }

    /// Adds an optimization profile and returns its index. TensorRT refuses an invalid profile.
    pub fn add_optimization_profile(&self, profile: &OptimizationProfile<'b>) -> Result<usize> {
        if profile.builder().raw() != self.builder.raw() {
            return Err(Error::Foreign("optimization profile"));
        }
        self.library().expect("IBuilderConfig::addOptimizationProfile", || {
            // SAFETY: configuration and profile are live and of one builder.
            let index = unsafe { self.raw().add_optimization_profile(profile.raw().0.as_ptr())? };
            Ok(usize::try_from(index).ok())
        })
    }

    /// The number of optimization profiles that were added.
    pub fn optimization_profile_count(&self) -> Result<usize> {
        // SAFETY: the configuration is live.
        Ok(unsafe { self.raw().get_nb_optimization_profiles()? }.unsigned_abs() as usize)
    }

    /// Sets the level of detail that an inspector of the engine reports.
    pub fn set_profiling_verbosity(&self, verbosity: ProfilingVerbosity) -> Result<()> {
        let value = verbosity.value(self.library().version())?;
        // SAFETY: the configuration is live; the verbosity is one of this release.
        unsafe { self.raw().set_profiling_verbosity(value) }.map_err(Error::from)
    }

    /// The level of detail that an inspector of the engine reports.
    pub fn profiling_verbosity(&self) -> Result<ProfilingVerbosity> {
        // SAFETY: the configuration is live.
        let value = unsafe { self.raw().get_profiling_verbosity()? };
        let version = self.library().version();
        Ok(ProfilingVerbosity::from_value(value, version)?)
    }

    /// Sets the libraries that layers may take their kernels from.
    pub fn set_tactic_sources(&self, sources: &[TacticSource]) -> Result<()> {
        let version = self.library().version();
        let bits =
            sources.iter().try_fold(0, |bits, source| source.value(version).map(|bit| bits | 1 << bit))?;
        self.library().expect_true("IBuilderConfig::setTacticSources", || {
            // SAFETY: the configuration is live; the bits are sources of this release.
            unsafe { self.raw().set_tactic_sources(bits) }
        })
    }

    /// The libraries that layers may take their kernels from.
    pub fn tactic_sources(&self) -> Result<Vec<TacticSource>> {
        // SAFETY: the configuration is live.
        let bits = unsafe { self.raw().get_tactic_sources()? };
        let version = self.library().version();
        let is_on = |source: &TacticSource| source.value(version).is_ok_and(|bit| bits >> bit & 1 == 1);
        Ok(TacticSource::ALL.iter().copied().filter(is_on).collect())
    }

    /// Creates a timing cache from the bytes of a serialized one; an empty slice creates an empty cache.
    pub fn create_timing_cache(&self, serialized: &[u8]) -> Result<TimingCache> {
        let raw = self.library().expect("IBuilderConfig::createTimingCache", || {
            let blob = if serialized.is_empty() { ptr::null() } else { serialized.as_ptr() };
            // SAFETY: the configuration is live; the bytes live during the call, in which the library copies them.
            let raw = unsafe { self.raw().create_timing_cache(blob.cast_mut().cast(), serialized.len())? };
            Ok(ITimingCache::new(self.library().version(), raw))
        })?;
        Ok(TimingCache::new(self.library(), raw))
    }

    /// Sets the timing cache that builds read and extend.
    ///
    /// A cache of another device or release is accepted only with `ignore_mismatch`.
    pub fn set_timing_cache(&self, cache: &TimingCache, ignore_mismatch: bool) -> Result<()> {
        self.builder.keep(cache);
        self.library().expect_true("IBuilderConfig::setTimingCache", || {
            // SAFETY: configuration and cache are live; the builder keeps the cache as long as itself.
            unsafe { self.raw().set_timing_cache(cache.raw().0.as_ptr(), ignore_mismatch) }
        })
    }

    /// The timing cache after a build, serialized; `None` if no cache was set.
    pub fn timing_cache(&self) -> Result<Option<Vec<u8>>> {
        // SAFETY: the configuration is live; the cache it returns is one that the builder keeps, or its own.
        let raw = unsafe { self.raw().get_timing_cache()? };
        let Some(raw) = ITimingCache::new(self.library().version(), raw) else { return Ok(None) };
        crate::timing_cache::serialize(self.library(), raw).map(Some)
    }

    /// Sets the limit of a memory pool, in bytes.
    pub fn set_memory_pool_limit(&self, pool: MemoryPoolType, bytes: usize) -> Result<()> {
        let pool = pool.value(self.library().version())?;
        // SAFETY: the configuration is live; the pool is one of this release.
        unsafe { self.raw().set_memory_pool_limit(pool, bytes) }.map_err(Error::from)
    }

    /// The limit of a memory pool, in bytes.
    pub fn memory_pool_limit(&self, pool: MemoryPoolType) -> Result<usize> {
        let pool = pool.value(self.library().version())?;
        // SAFETY: the configuration is live; the pool is one of this release.
        Ok(unsafe { self.raw().get_memory_pool_limit(pool)? })
    }

    /// The releases that have optimization levels.
    pub fn releases_with_optimization_levels() -> Availability {
        releases_with("IBuilderConfig::setBuilderOptimizationLevel")
    }

    /// Sets the optimization level, from 0 (fastest build) to 5 (fastest engine); since TensorRT 8.6.
    pub fn set_builder_optimization_level(&self, level: u8) -> Result<()> {
        // SAFETY: the configuration is live.
        unsafe { self.raw().set_builder_optimization_level(level.into()) }.map_err(Error::from)
    }

    /// The optimization level, from 0 (fastest build) to 5 (fastest engine); since TensorRT 8.6.
    pub fn builder_optimization_level(&self) -> Result<i32> {
        // SAFETY: the configuration is live.
        Ok(unsafe { self.raw().get_builder_optimization_level()? })
    }

    /// The smallest number of runs over which a tactic is timed; until TensorRT 9.
    pub fn set_min_timing_iterations(&self, runs: u16) -> Result<()> {
        // SAFETY: the configuration is live.
        unsafe { self.raw().set_min_timing_iterations(runs.into()) }.map_err(Error::from)
    }

    /// The smallest number of runs over which a tactic is timed; until TensorRT 9.
    pub fn min_timing_iterations(&self) -> Result<i32> {
        // SAFETY: the configuration is live.
        Ok(unsafe { self.raw().get_min_timing_iterations()? })
    }

    /// The number of runs over which a tactic's time is averaged.
    pub fn set_avg_timing_iterations(&self, runs: u16) -> Result<()> {
        // SAFETY: the configuration is live.
        unsafe { self.raw().set_avg_timing_iterations(runs.into()) }.map_err(Error::from)
    }

    /// The number of runs over which a tactic's time is averaged.
    pub fn avg_timing_iterations(&self) -> Result<i32> {
        // SAFETY: the configuration is live.
        Ok(unsafe { self.raw().get_avg_timing_iterations()? })
    }

    /// Sets the largest number of tactics that are timed per layer; since TensorRT 10.4.
    pub fn set_max_nb_tactics(&self, tactics: u16) -> Result<()> {
        // SAFETY: the configuration is live.
        unsafe { self.raw().set_max_nb_tactics(tactics.into()) }.map_err(Error::from)
    }

    /// The largest number of tactics that are timed per layer; −1 leaves it to the library. Since TensorRT 10.4.
    pub fn max_nb_tactics(&self) -> Result<i32> {
        // SAFETY: the configuration is live.
        Ok(unsafe { self.raw().get_max_nb_tactics()? })
    }

    /// Sets the GPU generations that the engine is built for, none of which needs to be present. TensorRT-RTX only.
    pub fn set_compute_capabilities(&self, capabilities: &[ComputeCapability]) -> Result<()> {
        let version = self.library().version();
        let count = i32::try_from(capabilities.len()).unwrap_or(i32::MAX);
        self.library().expect_true("IBuilderConfig::setNbComputeCapabilities", || {
            // SAFETY: the configuration is live.
            unsafe { self.raw().set_nb_compute_capabilities(count) }
        })?;
        for (index, capability) in (0..count).zip(capabilities) {
            let value = capability.value(version)?;
            self.library().expect_true("IBuilderConfig::setComputeCapability", || {
                // SAFETY: the configuration is live and has room for `count` capabilities.
                unsafe { self.raw().set_compute_capability(value, index) }
            })?;
        }
        Ok(())
    }

    /// The GPU generations that the engine is built for; TensorRT-RTX only.
    pub fn compute_capabilities(&self) -> Result<Vec<ComputeCapability>> {
        let version = self.library().version();
        // SAFETY: the configuration is live.
        let count = unsafe { self.raw().get_nb_compute_capabilities()? };
        let read = |index| {
            // SAFETY: the configuration is live; the index is below the count.
            let value = unsafe { self.raw().get_compute_capability(index)? };
            Ok(ComputeCapability::from_value(value, version)?)
        };
        (0..count).map(read).collect()
    }
}
