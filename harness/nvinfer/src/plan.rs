use crate::{Builder, BuilderConfig, Error, HostMemory, NetworkDefinition, Result, sys::table::IHostMemory};

impl Builder {
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

    fn check_own(&self, network: &NetworkDefinition<'_>, config: &BuilderConfig<'_>) -> Result<()> {
        match (network.builder().raw() == self.raw(), config.builder().raw() == self.raw()) {
            (true, true) => Ok(()),
            (false, _) => Err(Error::Foreign("network")),
            (_, false) => Err(Error::Foreign("configuration")),
        }
    }
}
