//! A *lane* feeds one worker of one variant, several cases at a time, and replaces it when it is lost.

pub mod flow_control;
pub mod leak_detector;

use std::{collections::VecDeque, sync::Arc, time::Instant};

use crossbeam_channel::Receiver;
use twinfer_case::{EncodedCase, Event, Observation, Stage};
use twinfer_onnx::Tensor;

use crate::{
    WorkerError,
    device_pools::{Busy, DevicePools, NicedWorkers},
    executor::flow_control::FlowControl,
    executor::leak_detector::LeakDetector,
    memory,
    outbox::{Message, Outbox},
    pool::{Trial, WorkerPool, timed},
    process::{Answer, Loss, WorkerProcess},
    recent_cases::RecentCases,
    semaphore::Turn,
};

/// A case to run on the lane's variant.
#[derive(Clone)]
pub struct WorkItem {
    /// The case's place in the campaign.
    pub index: u64,
    /// The case.
    pub case: Arc<EncodedCase>,
    /// Whether it is run for the second time, to be compared with the first.
    pub repeat: bool,
}

/// An observation with what led to it.
pub struct Observed {
    /// The case's place in the campaign.
    pub index: u64,
    /// The variant's place among the campaign's.
    pub variant: usize,
    /// Whether this is the second run.
    pub repeat: bool,
    /// What happened.
    pub observation: Observation,
    /// The cases that the worker ran before, oldest first, as places in the campaign.
    pub preceding: Vec<u64>,
}

/// Feeds one worker at a time until there are no more jobs.
pub struct Executor {
    variant: usize,
    site: Arc<DevicePools>,
    /// That of the lane's device.
    nursery: Arc<WorkerPool>,
    jobs: Receiver<WorkItem>,
    outbox: Outbox,
    answers: u64,
    weights: LeakDetector,
    /// Once the worker holds too much, it gets no more cases.
    is_outgrown: bool,
    in_flight: VecDeque<WorkItem>,
    in_flight_bytes: usize,
    /// There while cases are in flight, or a worker is awaited that is to have some.
    busy: Option<Busy>,
    /// Since when the worker has the case in front to itself, as far as the lane has looked.
    since: Instant,
    /// Answered, if what the worker says next begins where its answer ended: one that was cut short is only known by that.
    held: Option<(WorkItem, Observation)>,
    /// Taken from the queue, and too large to be sent before others are answered.
    waiting: Option<WorkItem>,
    past: RecentCases,
    pace: FlowControl,
}

impl Executor {
    /// A lane of the variant at `variant`, on the device of one of its site's nurseries.
    pub fn new(
        variant: usize,
        (site, nursery): (Arc<DevicePools>, Arc<WorkerPool>),
        jobs: Receiver<WorkItem>,
        outbox: Outbox,
    ) -> Self {
        Self {
            variant,
            site,
            nursery,
            jobs,
            outbox,
            answers: 0,
            weights: LeakDetector::default(),
            is_outgrown: false,
            in_flight: VecDeque::new(),
            in_flight_bytes: 0,
            busy: None,
            since: Instant::now(),
            held: None,
            waiting: None,
            past: RecentCases::default(),
            pace: FlowControl::new(),
        }
    }

    /// Serves jobs until their sender is gone; a failure is delivered like an answer.
    pub fn run(mut self, worker: WorkerProcess) {
        if let Err(error) = self.serve(worker) {
            self.outbox.send(Message::Failed(error));
        }
    }

    fn serve(&mut self, mut worker: WorkerProcess) -> Result<(), WorkerError> {
        loop {
            let driven = self.drive(&mut worker);
            if driven.is_ok() && !self.is_outgrown {
                return Ok(());
            }
            drop(worker);
            (self.weights, self.is_outgrown) = (LeakDetector::default(), false);
            worker = match driven {
                Ok(()) => {
                    self.past.forget();
                    self.take()?
                }
                Err((stage, loss)) => self.replace(stage, &loss)?,
            };
        }
    }

    /// Feeds `worker` until the jobs end, or it is outgrown and has answered what it had, or it is lost.
    fn drive(&mut self, worker: &mut WorkerProcess) -> Result<(), (Stage, Loss)> {
        let unsent = |loss| (Stage::Load, loss);
        if self.site.niced() == NicedWorkers::Executors {
            worker.step_back();
        }
        self.pace.begin();
        let turn = worker.turn();
        let mut device = Turn::to(turn.as_deref());
        for job in &self.in_flight {
            device.gain();
            worker.send(&job.case.task).map_err(unsent)?;
        }
        let mut stage = Stage::Load;
        loop {
            if self.in_flight.is_empty() {
                device.give_way();
            }
            if !self.is_outgrown && (self.in_flight.is_empty() || !worker.has_words()) {
                self.feed(worker, &mut device).map_err(unsent)?;
                self.pace.pause(self.in_flight.len());
            }
            let Some(front) = self.in_flight.front() else { return Ok(()) };
            let expected = front.case.task.hash;
            match worker.receive(stage).map_err(|loss| (stage, loss))? {
                Answer::Stage(hash, entered) if hash == expected => {
                    self.deliver_held();
                    stage = entered;
                }
                Answer::Done(hash, observation) if hash == expected => {
                    self.deliver_held();
                    if worker.is_spent() {
                        return Err((stage, Loss::Spent));
                    }
                    self.pace.answered(observation.tensors().map(Tensor::byte_len).sum());
                    self.hold(*observation);
                    self.note_answer(worker);
                    stage = Stage::Load;
                }
                Answer::Stage(..) | Answer::Done(..) => return Err((stage, Loss::other_case())),
            }
        }
    }

    /// Learns from time to time what the worker holds.
    fn note_answer(&mut self, worker: &WorkerProcess) {
        self.nursery.health().answered();
        self.answers += 1;
        if self.answers.is_power_of_two() {
            self.site.weigh(worker);
        }
        if let Some(growth) = self.weights.answered(|| memory::own(worker.pid())) {
            self.is_outgrown = true;
            let variant = self.nursery.variant().clone();
            self.outbox.send(Message::Event(Box::new(Event::WorkerOutgrown { variant, growth })));
        }
    }

    /// Gives the worker as many cases as it may hold.
    fn feed(&mut self, worker: &mut WorkerProcess, device: &mut Turn<'_>) -> Result<(), Loss> {
        let window = if device.is_exclusive() { 1 } else { self.pace.window() };
        while let Some(job) = self.next_job(worker.capacity(), window) {
            device.gain();
            worker.send(&job.case.task)?;
            if self.in_flight.is_empty() {
                self.since = Instant::now();
                self.pace.begin();
            }
            self.in_flight_bytes += job.case.bytes;
            self.in_flight.push_back(job);
            self.site.took();
            self.note_busy();
        }
        worker.flush()
    }

    /// The next job, where there is room for it: what waits in the pipe must never block the supervisor while the
    /// worker's own answers wait for it. Ahead of the worker a lane takes no more than it leaves to others.
    fn next_job(&mut self, capacity: usize, window: usize) -> Option<WorkItem> {
        if self.in_flight.is_empty() {
            return self.waiting.take().or_else(|| self.jobs.recv().ok());
        }
        if self.in_flight.len() >= window || self.in_flight.len() > self.jobs.len() + 1 {
            return None;
        }
        let job = self.waiting.take().or_else(|| self.jobs.try_recv().ok())?;
        if self.in_flight_bytes + job.case.bytes <= capacity * 3 / 4 {
            return Some(job);
        }
        self.waiting = Some(job);
        None
    }

    /// Keeps the answer to the case in front back while the worker has more to say.
    fn hold(&mut self, observation: Observation) {
        let Some(job) = self.in_flight.pop_front() else { return };
        self.site.returned();
        self.in_flight_bytes -= job.case.bytes;
        self.held = Some((job, timed(observation, self.since)));
        self.since = Instant::now();
        self.note_busy();
        if self.in_flight.is_empty() {
            self.deliver_held();
        }
    }

    /// Notes whether cases are in flight.
    fn note_busy(&mut self) {
        let is_busy = !self.in_flight.is_empty();
        if is_busy != self.busy.is_some() {
            self.busy = is_busy.then(|| self.site.busy());
        }
    }

    fn deliver_held(&mut self) {
        let Some((job, observation)) = self.held.take() else { return };
        let preceding = self.past.preceding();
        self.past.remember(job.index);
        let observed =
            Observed { index: job.index, variant: self.variant, repeat: job.repeat, observation, preceding };
        self.outbox.send(Message::Observed(Box::new(observed)));
    }

    /// Takes an answer back that may have been cut short: its case is run again.
    fn withdraw_held(&mut self) {
        if let Some((job, _)) = self.held.take() {
            self.in_flight_bytes += job.case.bytes;
            self.in_flight.push_front(job);
            self.site.took();
            self.note_busy();
        }
    }

    /// Finds out whether the case in front ended the worker, and gives the next worker.
    fn replace(&mut self, stage: Stage, loss: &Loss) -> Result<WorkerProcess, WorkerError> {
        if let Loss::Fault(_) = loss {
            return Err(WorkerError::of_loss(self.nursery.variant(), loss));
        }
        let (variant, reason) = (self.nursery.variant().clone(), loss.to_string());
        let index = self.in_flight.front().map(|job| job.index);
        self.outbox.send(Message::Event(Box::new(Event::WorkerLost { variant, index, stage, reason })));
        match loss {
            Loss::Garbled(_) => self.withdraw_held(),
            _ => self.deliver_held(),
        }
        self.past.forget();
        let Some(suspect) = self.in_flight.front() else { return self.take() };
        let (trial, nursery) = self.try_elsewhere(&Arc::clone(&suspect.case), loss)?;
        self.hold(trial.observation);
        self.deliver_held();
        if Arc::ptr_eq(&nursery, &self.nursery) {
            return trial.survivor.map_or_else(|| self.take(), Ok);
        }
        if trial.survivor.is_some() && !loss.is_from_outside() {
            self.nursery.health().strike();
        }
        self.take()
    }

    /// Runs a case that ended a worker on another device, if there is one: it may be the device's doing.
    fn try_elsewhere(
        &self,
        prepared: &EncodedCase,
        loss: &Loss,
    ) -> Result<(Trial, Arc<WorkerPool>), WorkerError> {
        let mut nursery = Arc::clone(self.site.other_than(&self.nursery).unwrap_or(&self.nursery));
        loop {
            match (nursery.try_fresh(&prepared.task, Some(loss)), self.site.other_than(&nursery)) {
                (Err(_), Some(other)) if nursery.health().is_given_up() => nursery = Arc::clone(other),
                (trial, _) => return Ok((trial?, nursery)),
            }
        }
    }

    /// Another worker on the lane's device; where that is given up, on another.
    fn take(&mut self) -> Result<WorkerProcess, WorkerError> {
        // it is as good as busy: another lane would be one too many once it has its worker
        self.busy.get_or_insert_with(|| self.site.busy());
        let taken = self.take_somewhere();
        self.note_busy();
        taken
    }

    fn take_somewhere(&mut self) -> Result<WorkerProcess, WorkerError> {
        loop {
            let other = self.site.other_than(&self.nursery);
            if let (true, Some(other)) = (self.nursery.health().is_given_up(), other) {
                self.nursery = Arc::clone(other);
            }
            match self.nursery.take() {
                Err(_)
                    if self.nursery.health().is_given_up()
                        && self.site.other_than(&self.nursery).is_some() => {}
                result => return result,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread, time::Duration};

    use twinfer_generators::Family;

    use super::*;
    use crate::{
        Deadlines, Watchdog, WorkerCommand,
        pool::{SparePolicy, lost},
        semaphore::Semaphore,
    };

    /// A lane of a site with two nurseries on which no worker starts, once all is over.
    fn lane() -> Executor {
        let watchdog = Watchdog::start();
        watchdog.kill_all();
        let nursery = || {
            let (variant, gate) = ("ort:cpu".parse().unwrap(), Arc::new(Semaphore::new(1)));
            // a name that no program has: nothing is forked, which would share the locks that other tests hold
            let command = WorkerCommand::new("no\0program");
            let (deadlines, reserve) = (Deadlines::default(), SparePolicy::default());
            Arc::new(WorkerPool::new(variant, command, deadlines, watchdog.clone(), gate, reserve))
        };
        let site = Arc::new(DevicePools::of(vec![nursery(), nursery()]));
        let first = Arc::clone(&site.pools()[0]);
        let (_, jobs) = crossbeam_channel::unbounded();
        Executor::new(0, (site, first), jobs, Outbox::new(drop))
    }

    #[test]
    fn once_all_is_over_a_lane_looks_for_no_other_worker() {
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || sender.send(lane().take().is_err()).unwrap());
        assert_eq!(ended.recv_timeout(Duration::from_secs(30)), Ok(true));
    }

    #[test]
    fn a_lane_is_busy_while_it_holds_cases() {
        let (mut lane, cases) = (lane(), Family::Conv.stream(0));
        let site = Arc::clone(&lane.site);
        for index in 0..2 {
            let prepared = EncodedCase::encode(cases.case(index)).unwrap();
            lane.in_flight_bytes += prepared.bytes;
            lane.in_flight.push_back(WorkItem { index, case: prepared, repeat: false });
            site.took();
            lane.note_busy();
            assert_eq!(site.busy_lanes(), 1);
        }
        let answer = || lost(site.variant(), Stage::Execute, &Loss::TimedOut).unwrap();
        lane.hold(answer());
        assert_eq!(site.busy_lanes(), 1);
        lane.hold(answer());
        assert_eq!(site.busy_lanes(), 0);
        assert!(lane.take().is_err());
        assert_eq!(site.busy_lanes(), 0, "it has nothing to do after it looked for a worker");
    }
}
