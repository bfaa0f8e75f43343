//! The autoscaler adds workers to a variant while its cases wait, as far as cores and memory allow, and reports
//! devices that were given up.

pub mod capacity;
mod idle_cores;
pub mod variant_workers;

use std::{
    iter,
    sync::{Arc, atomic::Ordering},
    thread::Scope,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use tracing::debug;
use twinfer_case::{DeviceUse, Event, WorkerBound, Workforce};

use self::{
    capacity::{Capacity, Load},
    idle_cores::IdleCores,
    variant_workers::VariantWorkers,
};
use crate::{
    memory,
    outbox::{Message, Outbox},
    process::WorkerProcess,
};

/// Time between two decisions.
const INTERVAL: Duration = Duration::from_millis(50);

/// How long cores are watched before idle ones are used.
const IDLE_INTERVAL: Duration = Duration::from_secs(2);

/// Starts and adds the executors of all variants.
pub struct Autoscaler<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    variants: Vec<VariantWorkers>,
    /// `None` if the number of workers is fixed.
    capacity: Option<Capacity>,
    outbox: Outbox,
    /// The workforce that was reported last.
    reported: Vec<Workforce>,
    /// `None` if the system does not report idle cores.
    idle_cores: Option<IdleCores>,
    /// When the idle cores were sampled last.
    sampled: Instant,
}

impl<'scope, 'env> Autoscaler<'scope, 'env> {
    /// An autoscaler that starts executors in `scope`; without `capacity` it adds none.
    pub fn new(
        scope: &'scope Scope<'scope, 'env>,
        variants: Vec<VariantWorkers>,
        capacity: Option<Capacity>,
        outbox: Outbox,
    ) -> Self {
        let (reported, idle_cores) = (Vec::new(), IdleCores::watch());
        Self { scope, variants, capacity, outbox, reported, idle_cores, sampled: Instant::now() }
    }

    /// Starts an executor for each of these workers, given by variant; those of a variant come from one device after the
    /// other.
    pub fn start_executors(&self, workers: Vec<Vec<WorkerProcess>>) {
        for ((index, variant), workers) in self.variants.iter().enumerate().zip(workers) {
            let pools = variant.pools().pools().iter().cycle();
            for (worker, pool) in workers.into_iter().zip(pools) {
                pool.add_executor();
                let executor = variant.executor(index, pool, self.outbox.clone());
                self.scope.spawn(move || executor.run(worker));
            }
        }
    }

    /// Scales until the sender of `end` is dropped.
    pub fn run(mut self, end: &Receiver<()>) {
        self.scale();
        while end.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            self.scale();
        }
    }

    /// Adds the workers that are due, and reports what has changed.
    fn scale(&mut self) {
        for event in self.variants.iter().flat_map(|variant| variant.pools().newly_given_up()) {
            self.report(event);
        }
        let workforce: Vec<_> = (0..self.variants.len())
            .map(|index| {
                let bound = self.add_workers(index);
                let pools = self.variants[index].pools();
                let (variant, footprint) = (pools.variant().clone(), pools.footprint());
                Workforce { variant, workers: pools.executors(), bound, footprint }
            })
            .collect();
        self.use_idle_cores(&workforce);
        if workforce != self.reported {
            self.log_changes(&workforce);
            self.reported.clone_from(&workforce);
            self.report(Event::WorkforceChanged { workforce });
        }
    }

    /// Adds as many workers to a variant as are due. Returns what prevents more.
    fn add_workers(&self, index: usize) -> WorkerBound {
        let Some(capacity) = self.capacity else {
            return match self.variants[index].device_use() {
                DeviceUse::Alone => WorkerBound::Device,
                DeviceUse::Shared => WorkerBound::Asked,
            };
        };
        loop {
            let loads: Vec<_> = self.variants.iter().map(VariantWorkers::load).collect();
            if let Some(bound) = capacity.bound(&loads, index) {
                return bound;
            }
            self.add_worker(index);
        }
    }

    /// Starts a worker and its executor.
    fn add_worker(&self, index: usize) {
        let variant = &self.variants[index];
        let Load { workers, starting, queued, in_flight, busy, .. } = variant.load();
        let name = variant.pools().variant().to_string();
        debug!(variant = name, workers, starting, busy, queued, in_flight, "worker added");
        let pool = Arc::clone(variant.pools().least_busy());
        pool.add_starting_executor();
        let executor = variant.executor(index, &pool, self.outbox.clone());
        let (start_failed, outbox) = (Arc::clone(variant.start_failed()), self.outbox.clone());
        self.scope.spawn(move || {
            let worker = match pool.take_first() {
                Ok(worker) => worker,
                Err(error) => {
                    debug!(reason = error.to_string(), "added worker did not start");
                    return start_failed.store(true, Ordering::Relaxed);
                }
            };
            let (variant, millis) = (pool.variant().clone(), worker.start_millis());
            outbox.send(Message::Event(Box::new(Event::WorkerStarted { variant, millis })));
            executor.run(worker);
        });
    }

    /// Raises the capacity if cores were idle although cases waited for workers on devices.
    fn use_idle_cores(&mut self, workforce: &[Workforce]) {
        let are_starting = self.variants.iter().any(|variant| variant.pools().starting_executors() > 0);
        if !are_starting && self.sampled.elapsed() < IDLE_INTERVAL {
            return;
        }
        self.sampled = Instant::now();
        let idle = self.idle_cores.as_mut().and_then(IdleCores::since_last);
        let mut bounds = self.variants.iter().zip(workforce);
        let are_wanted =
            bounds.any(|(variant, one)| one.bound == WorkerBound::Cores && variant.waits_for_devices());
        if let Some(idle) = idle.filter(|_| are_wanted && !are_starting) {
            self.capacity = self.capacity.map(|capacity| capacity.with_idle_cores(idle));
            let on_devices = self.capacity.map(|capacity| capacity.on_devices);
            let (idle, cores, available_bytes) = (idle.0, idle.1, memory::available());
            debug!(idle, cores, on_devices, available_bytes, "capacity for devices follows idle cores");
        }
    }

    /// Logs the workers of each variant whose number has changed. What limits them changes several times a second.
    fn log_changes(&self, workforce: &[Workforce]) {
        let reported = self.reported.iter().map(Some).chain(iter::repeat(None));
        for (now, before) in workforce.iter().zip(reported) {
            if before.map(|before| before.workers) != Some(now.workers) {
                let (variant, bound) = (now.variant.to_string(), now.bound.to_string());
                debug!(
                    variant,
                    workers = now.workers,
                    bound,
                    footprint_bytes = now.footprint,
                    "workers scaled"
                );
            }
        }
    }

    fn report(&self, event: Event) {
        self.outbox.clone().send(Message::Event(Box::new(event)));
    }
}
