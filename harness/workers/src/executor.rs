//! An executor feeds one worker of one variant, several cases at a time, and replaces it if it is lost.

mod flow_control;
mod in_flight;
mod leak_detector;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam_channel::Receiver;
use tracing::{debug, info, trace};
use twinfer_case::{EncodedCase, Event, Observation, Stage, Timing};
use twinfer_onnx::Tensor;

use self::{flow_control::FlowControl, in_flight::InFlight, leak_detector::LeakDetector};
use crate::{
    device::turn::DeviceTurn,
    device_pools::DevicePools,
    error::WorkerError,
    loss::Loss,
    memory,
    outbox::{Message, Outbox},
    pool::{
        WorkerPool,
        trial::{Trial, timed},
    },
    process::{Reply, WorkerProcess, accounting::WorkKind},
    recent_cases::RecentCases,
    semaphore::{LONG_WAIT, Priority},
    work_item::{Observed, WorkItem},
};

/// Feeds one worker at a time until the queue is closed.
pub struct Executor {
    variant: usize,
    pools: Arc<DevicePools>,
    /// The pool of the executor's device.
    pool: Arc<WorkerPool>,
    queue: Receiver<WorkItem>,
    outbox: Outbox,
    answers: u64,
    leak_detector: LeakDetector,
    /// Whether the worker holds too much memory: it receives no more cases.
    is_outgrown: bool,
    in_flight: InFlight,
    /// When the worker began the case in front, as far as the executor can see.
    since: Instant,
    /// The last answer. It is delivered when the next message begins where the answer ended: only that shows that it was not cut short.
    last_answer: Option<(WorkItem, Observation)>,
    /// Taken from the queue, and too large to be sent before others are answered.
    too_large: Option<WorkItem>,
    recent: RecentCases,
    flow: FlowControl,
}

impl Executor {
    /// An executor of the campaign's variant at index `variant`, which begins on the device of `pool`, one of `pools`.
    pub fn new(
        variant: usize,
        (pools, pool): (Arc<DevicePools>, Arc<WorkerPool>),
        queue: Receiver<WorkItem>,
        outbox: Outbox,
    ) -> Self {
        let in_flight = InFlight::new(Arc::clone(pools.activity()));
        Self {
            variant,
            pools,
            pool,
            queue,
            outbox,
            answers: 0,
            leak_detector: LeakDetector::default(),
            is_outgrown: false,
            in_flight,
            since: Instant::now(),
            last_answer: None,
            too_large: None,
            recent: RecentCases::default(),
            flow: FlowControl::new(),
        }
    }

    /// Runs cases until the queue is closed. An error is sent to the dispatcher, like an answer.
    pub fn run(mut self, worker: WorkerProcess) {
        if let Err(error) = self.run_cases(worker) {
            self.outbox.send(Message::Failed(error));
        }
    }

    fn run_cases(&mut self, mut worker: WorkerProcess) -> Result<(), WorkerError> {
        loop {
            let driven = self.drive(&mut worker);
            if let Err((stage, loss)) = &driven {
                worker.log_loss(*stage, self.in_flight.front().map(|item| item.index), loss);
            }
            if driven.is_ok() && !self.is_outgrown {
                return Ok(());
            }
            drop(worker);
            (self.leak_detector, self.is_outgrown) = (LeakDetector::default(), false);
            worker = match driven {
                Ok(()) => {
                    self.recent.clear();
                    self.take_worker()?
                }
                Err((stage, loss)) => self.replace(stage, &loss)?,
            };
        }
    }

    /// Feeds `worker` until the queue is closed, or the worker has outgrown its memory and answered what it had, or it is
    /// lost.
    fn drive(&mut self, worker: &mut WorkerProcess) -> Result<(), (Stage, Loss)> {
        if self.pools.executors_yield() {
            worker.lower_priority();
        }
        worker.set_kind(WorkKind::Cases);
        worker.watch(self.pools.watch());
        self.flow.restart();
        let semaphore = worker.turn();
        let mut turn = DeviceTurn::new(semaphore.as_deref());
        let mut stage = Stage::Load;
        self.resend(worker, &mut turn).map_err(|loss| (stage, loss))?;
        loop {
            if self.in_flight.is_empty() {
                turn.release();
            }
            if !self.is_outgrown && (self.in_flight.is_empty() || !worker.has_unread()) {
                self.feed(worker, &mut turn).map_err(|loss| (Stage::Load, loss))?;
                self.flow.pause(self.in_flight.len());
            }
            let Some(front) = self.in_flight.front() else { return Ok(()) };
            let expected = front.case.task.hash;
            match worker.receive(stage, &front.case.task).map_err(|loss| (stage, loss))? {
                Reply::Entered(hash, entered) if hash == expected => {
                    self.deliver_last();
                    stage = entered;
                }
                Reply::Observed(hash, observation) if hash == expected => {
                    self.deliver_last();
                    if worker.is_spent() {
                        return Err((stage, Loss::Spent));
                    }
                    self.complete(*observation);
                    self.measure(worker);
                    stage = Stage::Load;
                }
                Reply::Entered(..) | Reply::Observed(..) => return Err((stage, Loss::other_case())),
            }
        }
    }

    /// Sends the cases to a new worker that its predecessor did not answer.
    fn resend(&self, worker: &mut WorkerProcess, turn: &mut DeviceTurn<'_>) -> Result<(), Loss> {
        for item in self.in_flight.iter() {
            turn.acquire();
            worker.send(&item.case.task)?;
        }
        Ok(())
    }

    /// Sends the worker as many cases as it may hold.
    fn feed(&mut self, worker: &mut WorkerProcess, turn: &mut DeviceTurn<'_>) -> Result<(), Loss> {
        let window = if turn.is_exclusive() { 1 } else { self.flow.window() };
        while let Some(item) = self.next_item(worker.pipe_capacity(), window) {
            turn.acquire();
            worker.send(&item.case.task)?;
            if self.in_flight.is_empty() {
                self.since = Instant::now();
                self.flow.restart();
            }
            trace!(pid = worker.pid(), case = item.index, repeat = item.repeat, "case sent");
            self.in_flight.push(item);
        }
        worker.flush()
    }

    /// The next case, if there is room for it; waits if none is in flight. Cases in the pipe must never block the supervisor
    /// while the worker blocks on its own answers. An executor takes no more cases ahead than it leaves to others.
    fn next_item(&mut self, pipe_capacity: usize, window: usize) -> Option<WorkItem> {
        if self.in_flight.is_empty() {
            return self.too_large.take().or_else(|| self.wait_for_item());
        }
        if self.in_flight.len() >= window || self.in_flight.len() > self.queue.len() + 1 {
            return None;
        }
        let item = self.too_large.take().or_else(|| self.queue.try_recv().ok())?;
        if self.in_flight.bytes() + item.case.bytes <= pipe_capacity * 3 / 4 {
            return Some(item);
        }
        self.too_large = Some(item);
        None
    }

    fn wait_for_item(&self) -> Option<WorkItem> {
        let begun = Instant::now();
        let item = self.queue.recv().ok();
        let waited = begun.elapsed();
        if waited >= LONG_WAIT {
            let millis = waited.as_millis() as u64;
            debug!(variant = self.pool.variant().to_string(), millis, "executor waited for a case");
        }
        item
    }

    /// Takes the answer to the case in front, and delivers it at once if no other message will follow.
    fn complete(&mut self, observation: Observation) {
        let bytes = observation.tensors().map(Tensor::byte_len).sum();
        let observation = timed(observation, self.since);
        let time = Duration::from_micros(Timing::total(&observation.timings));
        self.flow.record_answer(bytes, time);
        let Some(item) = self.in_flight.pop() else { return };
        self.last_answer = Some((item, observation));
        self.since = Instant::now();
        if self.in_flight.is_empty() {
            self.deliver_last();
        }
    }

    fn deliver_last(&mut self) {
        let Some((item, observation)) = self.last_answer.take() else { return };
        let preceding = self.recent.preceding();
        self.recent.push(item.index);
        let WorkItem { index, repeat, .. } = item;
        trace!(
            variant = self.pool.variant().to_string(),
            case = index,
            repeat,
            stage = observation.stage.to_string(),
            micros = Timing::total(&observation.timings),
            "case observed"
        );
        let observed = Observed { index, variant: self.variant, repeat, observation, preceding };
        self.outbox.send(Message::Observed(Box::new(observed)));
    }

    /// Discards the last answer, which may be cut short: its case runs again.
    fn retract_last(&mut self) {
        if let Some((item, _)) = self.last_answer.take() {
            self.in_flight.return_to_front(item);
        }
    }

    /// Counts an answer, and measures the worker's memory from time to time.
    fn measure(&mut self, worker: &WorkerProcess) {
        self.pool.health().record_answer();
        self.answers += 1;
        if self.answers.is_power_of_two() {
            self.pools.record_footprint(worker);
        }
        if let Some(growth) = self.leak_detector.record_answer(|| memory::private_bytes(worker.pid())) {
            self.is_outgrown = true;
            info!(pid = worker.pid(), from_bytes = growth.from, to_bytes = growth.to, "worker outgrown");
            let variant = self.pool.variant().clone();
            self.outbox.send(Message::Event(Box::new(Event::WorkerOutgrown { variant, growth })));
        }
    }

    /// Finds out whether the case in front ended the worker, and returns another worker.
    fn replace(&mut self, stage: Stage, loss: &Loss) -> Result<WorkerProcess, WorkerError> {
        if let Loss::Fault(_) = loss {
            return Err(WorkerError::of_loss(self.pool.variant(), loss));
        }
        self.report_loss(stage, loss);
        match loss {
            Loss::Garbled(_) => self.retract_last(),
            _ => self.deliver_last(),
        }
        self.recent.clear();
        let Some(suspect) = self.in_flight.front() else { return self.take_worker() };
        let (trial, pool) = self.try_elsewhere(&Arc::clone(&suspect.case), loss)?;
        self.complete(trial.observation);
        self.deliver_last();
        if Arc::ptr_eq(&pool, &self.pool) {
            return trial.survivor.map_or_else(|| self.take_worker(), Ok);
        }
        if trial.survivor.is_some() && loss.concerns_case() {
            self.pool.health().record_failure();
        }
        self.take_worker()
    }

    fn report_loss(&self, stage: Stage, loss: &Loss) {
        let (variant, reason) = (self.pool.variant().clone(), loss.to_string());
        let index = self.in_flight.front().map(|item| item.index);
        self.outbox.send(Message::Event(Box::new(Event::WorkerLost { variant, index, stage, reason })));
    }

    /// Runs a case that ended a worker again, on another device if there is one: the device may be to blame.
    fn try_elsewhere(
        &self,
        case: &EncodedCase,
        loss: &Loss,
    ) -> Result<(Trial, Arc<WorkerPool>), WorkerError> {
        let mut pool = Arc::clone(self.pools.other_than(&self.pool).unwrap_or(&self.pool));
        loop {
            match (pool.try_fresh(&case.task, Some(loss), Priority::Executor), self.pools.other_than(&pool)) {
                (Err(_), Some(other)) if pool.health().is_given_up() => pool = Arc::clone(other),
                (trial, _) => return Ok((trial?, pool)),
            }
        }
    }

    /// Takes another worker on the executor's device, or on another device if that one is given up.
    fn take_worker(&mut self) -> Result<WorkerProcess, WorkerError> {
        // an additional executor would be one too many once this one has its worker
        self.in_flight.set_busy();
        let begun = Instant::now();
        let taken = self.take_on_any_device();
        let millis = begun.elapsed().as_millis() as u64;
        debug!(variant = self.pool.variant().to_string(), millis, "executor waited for a worker");
        self.in_flight.update_busy();
        taken
    }

    fn take_on_any_device(&mut self) -> Result<WorkerProcess, WorkerError> {
        loop {
            let other = self.pools.other_than(&self.pool);
            if let (true, Some(other)) = (self.pool.health().is_given_up(), other) {
                self.pool = Arc::clone(other);
            }
            match self.pool.take(Priority::Executor) {
                Err(_) if self.pool.health().is_given_up() && self.pools.other_than(&self.pool).is_some() => {
                }
                result => return result,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread, time::Duration};

    use twinfer_case::TrustedVariant;

    use super::*;
    use crate::{
        host_context::HostContext,
        pool::spares::SparePolicy,
        process::{command::WorkerCommand, deadline::Deadlines},
    };

    /// An executor with two devices on which no worker starts, after the end of the campaign.
    fn executor() -> Executor {
        let host = HostContext::start();
        host.kill_workers();
        let pool = || {
            // a name that no program can have: a forked process would share the locks that other tests hold
            let variant = TrustedVariant::vouch("ort:cpu".parse().unwrap());
            let command = WorkerCommand::new("no\0program");
            let (deadlines, policy) = (Deadlines::default(), SparePolicy::default());
            Arc::new(WorkerPool::new(variant, command, deadlines, &host, policy))
        };
        let pools = Arc::new(DevicePools::of(vec![pool(), pool()]));
        let first = Arc::clone(&pools.pools()[0]);
        let (_, queue) = crossbeam_channel::unbounded();
        Executor::new(0, (pools, first), queue, Outbox::new(drop))
    }

    #[test]
    fn taking_a_worker_after_the_end_fails_at_once() {
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || sender.send(executor().take_worker().is_err()).unwrap());
        assert_eq!(ended.recv_timeout(Duration::from_secs(30)), Ok(true));
    }

    #[test]
    fn executor_without_worker_and_cases_is_not_busy() {
        let mut executor = executor();
        assert!(executor.take_worker().is_err());
        assert_eq!(executor.pools.activity().busy(), 0);
    }
}
