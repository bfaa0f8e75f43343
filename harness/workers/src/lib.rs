//! Worker processes as the supervisor sees them: started, fed, watched, killed, replaced, and scaled with the load.
//!
//! A backend runs in a process of its own, so that a crash, a hang, or a corrupted CUDA context costs one worker and no case.
//! [`WorkerPool`] starts the workers of one variant on one device and keeps spares; [`DevicePools`] is one pool per device. An
//! [`Executor`] feeds one worker the cases of a campaign, and an [`Autoscaler`] adds executors while cases wait. [`TriageWorkers`]
//! run single cases beside the campaign.

mod autoscaler;
mod device;
mod device_pools;
mod error;
mod executor;
pub mod memory;
mod outbox;
mod pool;
mod process;
mod recent_cases;
mod round_trip;
mod semaphore;
mod sequential;
mod triage_workers;

pub use autoscaler::capacity::Capacity;
pub use autoscaler::{Autoscaler, VariantWorkers};
pub use device_pools::{DevicePools, HostContext, NicedWorkers, PoolOptions, start_all};
pub use error::WorkerError;
pub use executor::{Observed, WorkItem};
pub use outbox::{Message, Outbox, gather};
pub use pool::{SparePolicy, SpareRequest, WorkerPool};
pub use process::command::{ALLOCATOR, WorkerCommand};
pub use process::deadline::{Deadlines, Watchdog};
pub use process::{Loss, WorkerProcess};
pub use round_trip::RoundTrip;
pub use semaphore::Semaphore;
pub use sequential::SequentialRun;
pub use triage_workers::{Lease, TriageWorkers};
