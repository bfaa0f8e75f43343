use std::{sync::Arc, thread, time::Duration};

use crossbeam_channel::{Receiver, Sender, unbounded};
use twinfer_case::{EncodedCase, Timing, TrustedVariant};

use crate::{
    device_pools::DevicePools,
    error::WorkerError,
    executor::Executor,
    host_context::HostContext,
    outbox::{Message, Outbox, receive_all},
    pool::{WorkerPool, spares::SparePolicy},
    process::{command::WorkerCommand, deadline::Deadlines},
    semaphore::Priority,
    work_item::WorkItem,
};

/// One executor and its worker without a campaign, to measure what it costs to send cases to a worker and to receive the answers.
pub struct RoundTrip {
    queue: Sender<WorkItem>,
    inbox: Receiver<Message>,
    pid: u32,
}

impl RoundTrip {
    /// Starts a worker of `variant` and its executor.
    pub fn start(variant: &TrustedVariant, command: WorkerCommand) -> Result<Self, WorkerError> {
        let (host, deadlines) = (HostContext::start(), Deadlines::default());
        let pool = WorkerPool::new(variant.clone(), command, deadlines, &host, SparePolicy::default());
        let pool = Arc::new(pool);
        let worker = pool.take(Priority::Executor)?;
        let pid = worker.pid();
        let (queue, items) = unbounded();
        let (sender, inbox) = unbounded();
        let pools = Arc::new(DevicePools::of(vec![Arc::clone(&pool)]));
        let outbox = Outbox::new(move |message| drop(sender.send(message)));
        let executor = Executor::new(0, (pools, pool), items, outbox);
        thread::spawn(move || executor.run(worker));
        Ok(Self { queue, inbox, pid })
    }

    /// The worker's process id.
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// Runs every case once, waits for the answers, and drops them. Returns the time of all stages, as the worker measured
    /// it; an error if the worker is lost.
    pub fn run(&self, cases: &[Arc<EncodedCase>]) -> Result<Duration, WorkerError> {
        for (index, case) in (0..).zip(cases) {
            // an executor that has ended has sent its error
            let _ = self.queue.send(WorkItem { index, case: Arc::clone(case), repeat: false });
        }
        let (mut answers, mut micros) = (0, 0);
        while answers < cases.len() {
            for message in receive_all(&self.inbox, Duration::MAX)? {
                match message {
                    Message::Observed(observed) => {
                        answers += 1;
                        micros = Timing::total(&observed.observation.timings).saturating_add(micros);
                    }
                    Message::Failed(error) => return Err(error),
                    Message::Event(_) => {
                        return Err(WorkerError::Supervisor("the worker was lost".to_owned()));
                    }
                }
            }
        }
        Ok(Duration::from_micros(micros))
    }
}
