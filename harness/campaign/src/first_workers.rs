use std::sync::Arc;

use twinfer_case::{Description, DeviceUse, PoisonPattern, TrustedVariant, Variant};
use twinfer_workers::{
    Capacity, DevicePools, HostContext, SpareRequest, WorkerError, WorkerProcess, start_all,
};

use crate::{
    CampaignError, Options, Scaling,
    rung::{Base, Rung},
};

/// One in this many of the busy workers that devices allow is probably wanted by a variant once its first worker has run a case.
const EXPECTED_SHARE: usize = 2;
/// How many workers repeat a case: a fresh one, and one with each filling.
const REPEATING: usize = 1 + PoisonPattern::ALL.len();
/// About the memory of a worker that builds engines, which is not measured before one has run a case.
const EXPECTED_BYTES: u64 = 4 << 30;

/// The workers that a campaign starts with. The first of each variant says what its backend is.
pub struct FirstWorkers {
    /// By variant that runs every case: a worker per executor that it starts with.
    pub executors: Vec<Vec<WorkerProcess>>,
    /// Every rung above those variants.
    pub rungs: Vec<Rung>,
}

impl FirstWorkers {
    /// Starts the first workers of every variant, and then those of the rungs above them that are not better started later. Spares for
    /// the executors that come next start beside the first worker of a variant that is known to take long, since nothing else runs yet.
    pub fn start(
        pools: &[Arc<DevicePools>],
        options: &Options,
        capacity: Capacity,
        host: &HostContext,
    ) -> Result<Self, CampaignError> {
        let _early = request_early(pools, options, capacity);
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
        pools.pools_for(options.useful_jobs(), device_use(first)).skip(pools.pools().len()).collect()
    });
    let others = start_all(others.collect())?;
    let joined = first.into_iter().zip(others);
    Ok(joined.map(|(first, others)| first.into_iter().chain(others).collect()).collect())
}

/// Has spares started, of variants whose workers are known to start slowly and to share their device, until the requests are dropped: for the
/// executors that they will get next, and for the repeats of the first case that diverges.
fn request_early(pools: &[Arc<DevicePools>], options: &Options, capacity: Capacity) -> Vec<SpareRequest> {
    if options.scaling != Scaling::AsNeeded {
        return Vec::new();
    }
    let slow: Vec<_> = pools.iter().filter(|pools| pools.variant().is_at_lowest_level()).collect();
    let workers: usize = slow.iter().map(|pools| pools.pools().len()).sum();
    let fitting = fitting(capacity) / workers.max(1);
    let requests = slow.iter().flat_map(|pools| {
        let expected = expected_executors(pools, capacity).min(fitting);
        pools.pools().iter().for_each(|pool| pool.expect_slow_start());
        let of_executors = pools.pools().iter().map(move |pool| pool.request_spares(expected));
        let of_repeats = if fitting >= 2 * REPEATING { pools.request_first_repeats() } else { Vec::new() };
        of_executors.chain(of_repeats)
    });
    requests.collect()
}

/// How many executors a variant will probably want on each device.
fn expected_executors(pools: &DevicePools, capacity: Capacity) -> usize {
    capacity.on_devices.div_ceil(EXPECTED_SHARE * pools.pools().len())
}

/// How many workers that build engines fit in memory.
fn fitting(capacity: Capacity) -> usize {
    let workers = capacity.memory.map(|bytes| bytes / EXPECTED_BYTES);
    workers.map_or(usize::MAX, |workers| usize::try_from(workers).unwrap_or(usize::MAX))
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
        let expected = expected_executors(pools, capacity);
        pools.pools().iter().map(move |pool| pool.request_spares(expected))
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

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use twinfer_workers::WorkerCommand;

    use super::*;

    /// How many spares are requested early for a variant, on a machine with 12 cores for devices and this memory.
    fn requested(variant: &str, memory: u64) -> (usize, bool) {
        let variant = TrustedVariant::vouch(variant.parse().unwrap());
        // a name that no program can have
        let mut options = Options::new(vec![variant.clone()], WorkerCommand::new("no\0program"));
        options.investigations = NonZeroUsize::MIN;
        let capacity = Capacity { per_variant: 16, on_devices: 12, memory: Some(memory), per_device: None };
        let host = HostContext::start();
        let pools = Arc::new(DevicePools::new(&variant, &options.pools(), &host, 1));
        let requests = request_early(&[Arc::clone(&pools)], &options, capacity);
        (requests.iter().map(SpareRequest::workers).sum(), !pools.start_time().is_zero())
    }

    #[test]
    fn workers_that_are_known_to_start_slowly_start_early_as_memory_allows() {
        let plenty = 1 << 40;
        assert_eq!(requested("trt,level=0,version=8.6", plenty), (6 + REPEATING, true));
        assert_eq!(requested("trt,level=0,version=8.6", 9 << 30), (2, true));
        assert_eq!(requested("trt,version=8.6", plenty), (0, false), "it may need its device alone");
        assert_eq!(requested("ort:cuda", plenty), (0, false));
    }
}
