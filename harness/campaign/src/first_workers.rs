use std::sync::Arc;

use twinfer_case::{Description, DeviceUse, TrustedVariant, Variant};
use twinfer_workers::{
    Capacity, DevicePools, HostContext, SpareRequest, WorkerError, WorkerProcess, start_all,
};

use crate::{
    CampaignError, Options, Scaling,
    rung::{Base, Rung},
};

/// How many executors a variant will probably want on each device once its first worker has run a case.
const EXPECTED_EXECUTORS: usize = 4;

/// The workers that a campaign starts with. The first of each variant says what its backend is.
pub struct FirstWorkers {
    /// By variant that runs every case: a worker per executor that it starts with.
    pub executors: Vec<Vec<WorkerProcess>>,
    /// Every rung above those variants.
    pub rungs: Vec<Rung>,
}

impl FirstWorkers {
    /// Starts the first workers of every variant, and then those of the rungs above them that are not better started later.
    pub fn start(
        pools: &[Arc<DevicePools>],
        options: &Options,
        capacity: Capacity,
        host: &HostContext,
    ) -> Result<Self, CampaignError> {
        let executors = start_executors(pools, options)?;
        let _spares = request_spares(pools, &executors, options, capacity);
        let rungs = Rung::start(&bases(pools, &executors), options, host)?;
        Ok(Self { executors, rungs })
    }

    /// The variants that run every case, with what the first of their workers says.
    pub fn described<'a>(
        &'a self,
        pools: &'a [Arc<DevicePools>],
    ) -> Vec<(&'a TrustedVariant, &'a Description)> {
        let described = |base: Base<'a>| (base.variant, base.worker.description());
        bases(pools, &self.executors).into_iter().map(described).collect()
    }

    /// Every worker that has started, with its variant.
    pub fn all<'a>(
        &'a self,
        pools: &'a [Arc<DevicePools>],
    ) -> impl Iterator<Item = (&'a Variant, &'a WorkerProcess)> {
        let of_variant = |(pools, workers): (&'a Arc<DevicePools>, &'a Vec<WorkerProcess>)| {
            workers.iter().map(|worker| (pools.variant(), worker))
        };
        let executors = pools.iter().zip(&self.executors).flat_map(of_variant);
        let rungs = self.rungs.iter().filter_map(|rung| Some((rung.variant(), rung.worker()?)));
        executors.chain(rungs)
    }
}

/// How a variant uses its devices, as the first of its workers says.
pub fn device_use(workers: &[WorkerProcess]) -> DeviceUse {
    workers.first().map(|worker| worker.description().device_use).unwrap_or_default()
}

/// A worker for every executor that a variant starts with; the first on each device says how many may use it.
fn start_executors(
    pools: &[Arc<DevicePools>],
    options: &Options,
) -> Result<Vec<Vec<WorkerProcess>>, WorkerError> {
    let first = start_all(pools.iter().map(|pools| pools.pools().iter().collect()).collect())?;
    if options.scaling == Scaling::AsNeeded {
        return Ok(first);
    }
    let others = pools.iter().zip(&first).map(|(pools, first)| {
        pools.pools_for(options.jobs.get(), device_use(first)).skip(pools.pools().len()).collect()
    });
    let others = start_all(others.collect())?;
    let joined = first.into_iter().zip(others);
    Ok(joined.map(|(first, others)| first.into_iter().chain(others).collect()).collect())
}

/// Has spares started for the executors that variants will get next, until the requests are dropped.
fn request_spares(
    pools: &[Arc<DevicePools>],
    executors: &[Vec<WorkerProcess>],
    options: &Options,
    capacity: Capacity,
) -> Vec<SpareRequest> {
    let grows = |(_, workers): &(_, &Vec<WorkerProcess>)| {
        options.scaling == Scaling::AsNeeded && device_use(workers) == DeviceUse::Shared
    };
    let growing = pools.iter().zip(executors).filter(grows);
    let requests = growing.flat_map(|(pools, _)| {
        let pools = pools.pools();
        let expected = EXPECTED_EXECUTORS.min(capacity.on_devices.div_ceil(pools.len()));
        pools.iter().map(move |pool| pool.request_spares(expected))
    });
    requests.collect()
}

/// The variants that run every case, each with the first of its workers.
fn bases<'a>(pools: &'a [Arc<DevicePools>], executors: &'a [Vec<WorkerProcess>]) -> Vec<Base<'a>> {
    let base = |(pools, workers): (&'a Arc<DevicePools>, &'a Vec<WorkerProcess>)| {
        Some(Base { variant: pools.trusted_variant(), worker: workers.first()? })
    };
    pools.iter().zip(executors).filter_map(base).collect()
}
