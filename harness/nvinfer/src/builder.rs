use std::cell::RefCell;

use crate::{
    BuilderConfig, Error, HostMemory, Library, NetworkDefinition, OptimizationProfile, Result, TimingCache,
    owned::Owned,
    sys::{
        enums::NetworkFlag,
        table::{IBuilder, IBuilderConfig, IHostMemory, INetworkDefinition, IOptimizationProfile},
    },
};

/// Creates networks and configurations, and builds plans from them.
#[derive(Debug)]
pub struct Builder {
    // In this order: the caches outlive the builder.
    raw: Owned<IBuilder>,
    timing_caches: RefCell<Vec<TimingCache>>,
}

/// What decides the precision of a network's layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Typing {
    /// The builder, within the flags of its configuration. Releases without weak typing treat it as strong.
    #[default]
    Weak,
    /// The types of the network's tensors and nothing else; since TensorRT 9.1.
    Strong,
}

impl Builder {
    pub(crate) fn new(library: Library, raw: IBuilder) -> Self {
        Self { raw: Owned::new(library, raw), timing_caches: RefCell::default() }
    }

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

    /// Creates an empty network with an explicit batch dimension.
    pub fn create_network(&self, typing: Typing) -> Result<NetworkDefinition<'_>> {
        let version = self.library().version();
        let mut flags = NetworkFlag::ExplicitBatch.value(version).map_or(0, |bit| 1 << bit);
        if typing == Typing::Strong {
            flags |= 1 << NetworkFlag::StronglyTyped.value(version)?;
        }
        let raw = self.library().expect("IBuilder::createNetworkV2", || {
            // SAFETY: the builder is live; the flags are bits of this release.
            let raw = unsafe { self.raw().create_network_v2(flags)? };
            Ok(INetworkDefinition::new(version, raw))
        })?;
        Ok(NetworkDefinition::new(self, raw))
    }

    /// Creates a configuration with the library's defaults.
    pub fn create_config(&self) -> Result<BuilderConfig<'_>> {
        let raw = self.library().expect("IBuilder::createBuilderConfig", || {
            // SAFETY: the builder is live.
            let raw = unsafe { self.raw().create_builder_config()? };
            Ok(IBuilderConfig::new(self.library().version(), raw))
        })?;
        Ok(BuilderConfig::new(self, raw))
    }

    /// Creates an empty optimization profile.
    pub fn create_optimization_profile(&self) -> Result<OptimizationProfile<'_>> {
        let raw = self.library().expect("IBuilder::createOptimizationProfile", || {
            // SAFETY: the builder is live; it owns the profile.
            let raw = unsafe { self.raw().create_optimization_profile()? };
            Ok(IOptimizationProfile::new(self.library().version(), raw))
        })?;
        Ok(OptimizationProfile::new(self, raw))
    }

    /// Builds a plan: a serialized engine.
    pub fn build_serialized_network(
        &self,
        network: &NetworkDefinition<'_>,
        config: &BuilderConfig<'_>,
    ) -> Result<HostMemory<'_>> {
        self.check_own(network, config)?;
        let raw = self.library().expect("IBuilder::buildSerializedNetwork", || {
            // SAFETY: builder, network and configuration are live and belong together; the network keeps its weights
            // and its parser alive.
            let raw = unsafe {
                self.raw().build_serialized_network(network.raw().0.as_ptr(), config.raw().0.as_ptr())?
            };
            Ok(IHostMemory::new(self.library().version(), raw))
        })?;
        Ok(HostMemory::new(self.library(), raw))
    }

    /// Whether the network satisfies the restrictions of the configuration.
    pub fn is_network_supported(
        &self,
        network: &NetworkDefinition<'_>,
        config: &BuilderConfig<'_>,
    ) -> Result<bool> {
        self.check_own(network, config)?;
        // SAFETY: builder, network and configuration are live and belong together.
        Ok(unsafe { self.raw().is_network_supported(network.raw().0.as_ptr(), config.raw().0.as_ptr())? })
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

    fn check_own(&self, network: &NetworkDefinition<'_>, config: &BuilderConfig<'_>) -> Result<()> {
        match (network.builder().raw() == self.raw(), config.builder().raw() == self.raw()) {
            (true, true) => Ok(()),
            (false, _) => Err(Error::Foreign("network")),
            (_, false) => Err(Error::Foreign("configuration")),
        }
    }
}
