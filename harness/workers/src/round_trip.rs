use std::{sync::Arc, thread, time::Duration};

use crossbeam_channel::{Receiver, Sender, unbounded};
use twinfer_case::{Prepared, Timing, Variant};

use crate::{
    Deadlines, WorkerCommand, WorkerError,
    deadline::Watchdog,
    device_pools::Site,
    executor::{Job, Lane},
    outbox::{Message, Outbox, gather},
    pool::{Nursery, Reserve},
    semaphore::Gate,
};

/// One lane of a campaign with nothing else of it: cases go to a worker process and come back, as a measurement wants it.
pub struct Passage {
    jobs: Sender<Job>,
    deliveries: Receiver<Message>,
    worker: u32,
}

impl Passage {
    /// Starts a worker of `variant` and the lane that feeds it.
    pub fn open(variant: &Variant, command: WorkerCommand) -> Result<Self, WorkerError> {
        let (watchdog, gate) = (Watchdog::start(), Arc::new(Gate::of_machine()));
        let deadlines = Deadlines::default();
        let nursery = Nursery::new(variant.clone(), command, deadlines, watchdog, gate, Reserve::default());
        let nursery = Arc::new(nursery);
        let process = nursery.take()?;
        let worker = process.process();
        let (jobs, queue) = unbounded();
        let (sender, deliveries) = unbounded();
        let site = Arc::new(Site::of(vec![Arc::clone(&nursery)]));
        let outbox = Outbox::new(move |message| drop(sender.send(message)));
        let lane = Lane::new(0, (site, nursery), queue, outbox);
        thread::spawn(move || lane.run(process));
        Ok(Self { jobs, deliveries, worker })
    }

    /// The number of the worker's process.
    pub const fn worker(&self) -> u32 {
        self.worker
    }

    /// Has every case run once and waits for the answers, which are dropped; an error where the worker does not survive.
    /// What all their stages took, as the worker timed them.
    pub fn carry(&self, cases: &[Arc<Prepared>]) -> Result<Duration, WorkerError> {
        for (index, prepared) in (0..).zip(cases) {
            let job = Job { index, prepared: Arc::clone(prepared), repeat: false };
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
