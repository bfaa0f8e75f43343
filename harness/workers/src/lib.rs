//! Worker processes as the supervisor sees them: started, fed, watched, killed, replaced, and scaled with the load.
//!
//! A backend runs in a process of its own, so that a crash, a hang, or a corrupted CUDA context costs one worker and no case.
//! This runs one case in a worker that has run nothing else:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use twinfer_case::{Task, TrustedVariant};
//! use twinfer_workers::{Deadlines, HostContext, SparePolicy, TriageWorkers, WorkerCommand, WorkerError, WorkerPool};
//!
//! fn run(task: &Task) -> Result<(), WorkerError> {
//!     let command = WorkerCommand { args: vec!["worker".to_owned()], ..WorkerCommand::new("twinfer") };
//!     let host = HostContext::start();
//!     let variant = TrustedVariant::vouch("ort:cpu".parse().expect("a variant"));
//!     let pool = WorkerPool::new(variant, command, Deadlines::default(), &host, SparePolicy::default());
//!     let workers = TriageWorkers::start(Arc::new(pool))?;
//!     let observation = workers.observe_fresh(task)?;
//!     println!("{}: {:?} in {}", workers.info().variant, observation.outcome, observation.stage);
//!     Ok(())
//! }
//! ```
//!
//! A [`WorkerPool`] starts the workers of one variant on one device and keeps spares; [`DevicePools`] has one pool per device. An
//! `Executor` feeds one worker the cases of a campaign, and an [`Autoscaler`] adds executors while cases wait.
//! [`TriageWorkers`] run single cases beside the campaign. [`run_batch`] runs a few in a worker that then ends by itself.

mod autoscaler;
mod batch;
mod device;
mod device_pools;
mod error;
mod executor;
mod host_context;
mod host_memory;
mod idle;
mod limits;
mod loss;
pub mod memory;
mod mps;
mod outbox;
mod pool;
mod process;
mod process_stat;
mod recent_cases;
mod round_trip;
mod semaphore;
mod sequential;
mod stage_times;
mod triage_workers;
mod turns;
mod work_item;
mod worker_memory;

pub use autoscaler::{Autoscaler, capacity::Capacity, variant_workers::VariantWorkers};
pub use batch::run_batch;
pub use device_pools::{DevicePools, PoolOptions, start_all};
pub use error::WorkerError;
pub use host_context::HostContext;
pub use limits::{Excess, Limits, Resource};
pub use loss::Loss;
pub use mps::{MpsError, MpsServer};
pub use outbox::{Message, Outbox, receive_all};
pub use pool::{
    WorkerPool,
    spares::{SparePolicy, SpareRequest},
};
pub use process::{
    WorkerProcess,
    command::{ALLOCATOR, WorkerCommand},
    deadline::Deadlines,
};
pub use process_stat::ProcessStat;
pub use round_trip::RoundTrip;
pub use semaphore::Semaphore;
pub use sequential::SequentialRun;
pub use triage_workers::{FreshWorker, Lease, RepeatedRun, TriageWorkers};
pub use work_item::{Observed, WorkItem};
