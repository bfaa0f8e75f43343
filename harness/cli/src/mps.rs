//! The multi-process service that a campaign starts for its workers.

use std::{num::NonZeroUsize, time::Duration};

use twinfer_campaign::Options;
use twinfer_case::{DeviceNeed, TrustedVariant};
use twinfer_provision::has_device;
use twinfer_workers::MpsServer;

use crate::output::note;

/// How long the service may take to start. On an H200 it takes 2 s.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts the service if workers need a GPU and none is running, and has the workers of `options` use it. It ends when the result is
/// dropped, which must be after the campaign. Prints what became of it.
pub fn serve(options: &mut Options) -> Option<MpsServer> {
    let needs_gpu = options.variants.iter().any(|one| one.backend.device_need() == DeviceNeed::Always);
    if !needs_gpu || !has_device() || twinfer_backend::is_mps_serving() {
        return None;
    }
    match MpsServer::start(&options.worker, PATIENCE) {
        Ok(server) => {
            options.worker.env.push(server.environment());
            let workers = workers_a_device(twinfer_backend::MPS_PROCESSES_A_DEVICE, &options.variants);
            options.device_workers = Some(workers);
            note!("workers share the GPU: started NVIDIA's multi-process service for this run");
            Some(server)
        }
        Err(error) => {
            note!(
                "workers take turns on the GPU, which is slow, because NVIDIA's multi-process service did not start: {error}"
            );
            None
        }
    }
}

/// How many workers a device serves if it serves that many processes.
pub fn workers_a_device(processes: NonZeroUsize, variants: &[TrustedVariant]) -> NonZeroUsize {
    let most = variants.iter().map(|variant| variant.processes()).max().unwrap_or(1);
    NonZeroUsize::new(processes.get() / most).unwrap_or(NonZeroUsize::MIN)
}
