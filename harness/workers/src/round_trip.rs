use std::{sync::Arc, thread, time::Duration};

use crossbeam_channel::{Receiver, Sender, unbounded};
use twinfer_case::{EncodedCase, Timing, Variant};

use crate::{
    Deadlines, WorkerCommand, WorkerError,
    device_pools::DevicePools,
    executor::{Executor, WorkItem},
    outbox::{Message, Outbox, gather},
    pool::{SparePolicy, WorkerPool},
    process::deadline::Watchdog,
    semaphore::Semaphore,
};

/// One lane of a campaign with nothing else of it: cases go to a worker process and come back, as a measurement wants it.
pub struct RoundTrip {
    jobs: Sender<WorkItem>,
    deliveries: Receiver<Message>,
    worker: u32,
}

impl RoundTrip {
    /// Starts a worker of `variant` and the lane that feeds it.
    pub fn start(variant: &Variant, command: WorkerCommand) -> Result<Self, WorkerError> {
        let (watchdog, gate) = (Watchdog::start(), Arc::new(Semaphore::for_worker_starts()));
        let deadlines = Deadlines::default();
        let nursery =
            WorkerPool::new(variant.clone(), command, deadlines, watchdog, gate, SparePolicy::default());
        let nursery = Arc::new(nursery);
        let process = nursery.take()?;
        let worker = process.pid();
        let (jobs, queue) = unbounded();
        let (sender, deliveries) = unbounded();
        let site = Arc::new(DevicePools::of(vec![Arc::clone(&nursery)]));
        let outbox = Outbox::new(move |message| drop(sender.send(message)));
        let lane = Executor::new(0, (site, nursery), queue, outbox);
        thread::spawn(move || lane.run(process));
        Ok(Self { jobs, deliveries, worker })
    }

    /// The number of the worker's process.
    pub const fn pid(&self) -> u32 {
        self.worker
    }

    /// Has every case run once and waits for the answers, which are dropped; an error where the worker does not survive.
    /// What all their stages took, as the worker timed them.
    pub fn run(&self, cases: &[Arc<EncodedCase>]) -> Result<Duration, WorkerError> {
        for (index, prepared) in (0..).zip(cases) {
            let job = WorkItem { index, case: Arc::clone(prepared), repeat: false };
            // a lane that is gone has delivered its failure
            let _ = self.jobs.send(job);
        }
        let (mut answers, mut micros) = (0, 0);
        while answers < cases.len() {
            for delivery in gather(&self.deliveries, Duration::MAX)? {
                match delivery {
                    Message::Observed(observed) => {
                        answers += 1;
                        micros += Timing::total(&observed.observation.timings);
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
