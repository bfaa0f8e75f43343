//! The *foreman* gives a variant more workers while its cases wait, as far as cores and memory allow, and tells which
//! devices were given up.

pub mod capacity;
pub mod idle_cores;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::Scope,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use twinfer_case::{DeviceUse, Event, WorkerBound, Workforce};

use crate::{
    autoscaler::capacity::{Capacity, Load, bound},
    autoscaler::idle_cores::IdleCores,
    device_pools::DevicePools,
    executor::{Executor, WorkItem},
    outbox::{Message, Outbox},
    pool::WorkerPool,
    process::WorkerProcess,
};

/// How often the foreman looks.
const INTERVAL: Duration = Duration::from_millis(50);

/// How long cores are watched before it is told that they stand idle.
const WATCH: Duration = Duration::from_secs(2);

/// Opens the lanes of all variants.
pub struct Autoscaler<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    gangs: Vec<VariantWorkers>,
    /// What there is for workers; nothing where their number is fixed.
    means: Option<Capacity>,
    outbox: Outbox,
    told: Vec<Workforce>,
    idle_cores: Option<IdleCores>,
    /// Since when they are watched.
    watched: Instant,
}

/// The lanes of one variant.
pub struct VariantWorkers {
    site: Arc<DevicePools>,
    queue: Receiver<WorkItem>,
    device_use: DeviceUse,
    /// Whether the last worker that was to be added did not start.
    is_refused: Arc<AtomicBool>,
}

impl<'scope, 'env> Autoscaler<'scope, 'env> {
    /// An autoscaler that starts executors in `scope`; with no `means` it adds none.
    pub fn new(
        scope: &'scope Scope<'scope, 'env>,
        gangs: Vec<VariantWorkers>,
        means: Option<Capacity>,
        outbox: Outbox,
    ) -> Self {
        let (told, idle_cores) = (Vec::new(), IdleCores::watch());
        Self { scope, gangs, means, outbox, told, idle_cores, watched: Instant::now() }
    }

    /// Opens a lane for each of these workers, by variant, which come from one device after the other.
    pub fn start_executors(&self, workers: Vec<Vec<WorkerProcess>>) {
        for (place, workers) in workers.into_iter().enumerate() {
            let nurseries = self.gangs[place].site.pools().iter().cycle();
            for (worker, nursery) in workers.into_iter().zip(nurseries) {
                nursery.engage();
                let lane = self.lane(place, nursery);
                self.scope.spawn(move || lane.run(worker));
            }
        }
    }

    /// Looks after them until `over` is closed.
    pub fn run(mut self, over: &Receiver<()>) {
        self.look();
        while over.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            self.look();
        }
    }

    fn look(&mut self) {
        for event in self.gangs.iter().flat_map(|gang| gang.site.newly_given_up()) {
            self.tell(event);
        }
        let workforce: Vec<_> = (0..self.gangs.len())
            .map(|place| {
                let bound = self.hire(place);
                let VariantWorkers { site, .. } = &self.gangs[place];
                let (variant, footprint) = (site.variant().clone(), site.footprint());
                Workforce { variant, workers: site.lanes(), bound, footprint }
            })
            .collect();
        self.use_idle_cores(&workforce);
        if workforce != self.told {
            self.told.clone_from(&workforce);
            self.tell(Event::WorkforceChanged { workforce });
        }
    }

    /// Lets more workers be hired where cores stand idle that were left to others.
    fn use_idle_cores(&mut self, workforce: &[Workforce]) {
        let are_starting = self.gangs.iter().any(|gang| gang.site.starting() > 0);
        if !are_starting && self.watched.elapsed() < WATCH {
            return;
        }
        self.watched = Instant::now();
        let idle = self.idle_cores.as_mut().and_then(IdleCores::since_last);
        let mut bounds = self.gangs.iter().zip(workforce);
        let are_wanted =
            bounds.any(|(gang, one)| one.bound == WorkerBound::Cores && gang.waits_for_devices());
        if let Some(idle) = idle.filter(|_| are_wanted && !are_starting) {
            self.means = self.means.map(|means| means.with_idle(idle));
        }
    }

    /// Gives a variant as many workers more as are due; what is against others.
    fn hire(&self, place: usize) -> WorkerBound {
        let gang = &self.gangs[place];
        let Some(means) = self.means else {
            return if gang.device_use == DeviceUse::Alone {
                WorkerBound::Device
            } else {
                WorkerBound::Asked
            };
        };
        loop {
            let staffs: Vec<_> = self.gangs.iter().map(VariantWorkers::staff).collect();
            if let Some(bound) = bound(means, &staffs, place) {
                return bound;
            }
            self.start(place);
        }
    }

    /// Starts a worker and opens its lane.
    fn start(&self, place: usize) {
        let gang = &self.gangs[place];
        let nursery = Arc::clone(gang.site.least_busy());
        nursery.engage_soon();
        let (lane, refused) = (self.lane(place, &nursery), Arc::clone(&gang.is_refused));
        let outbox = self.outbox.clone();
        self.scope.spawn(move || {
            let Some(worker) = nursery.take_first() else { return refused.store(true, Ordering::Relaxed) };
            let (variant, millis) = (nursery.variant().clone(), worker.start_millis());
            outbox.send(Message::Event(Box::new(Event::WorkerStarted { variant, millis })));
            lane.run(worker);
        });
    }

    fn lane(&self, place: usize, nursery: &Arc<WorkerPool>) -> Executor {
        let VariantWorkers { site, queue, .. } = &self.gangs[place];
        let outbox = self.outbox.clone();
        Executor::new(place, (Arc::clone(site), Arc::clone(nursery)), queue.clone(), outbox)
    }

    fn tell(&self, event: Event) {
        self.outbox.clone().send(Message::Event(Box::new(event)));
    }
}

impl VariantWorkers {
    /// The workers of the variant of `site`, which take their cases from `queue`.
    pub fn new(site: Arc<DevicePools>, queue: Receiver<WorkItem>, device_use: DeviceUse) -> Self {
        Self { site, queue, device_use, is_refused: Arc::default() }
    }

    /// Whether cases wait for more workers on devices than there are.
    fn waits_for_devices(&self) -> bool {
        self.site.is_on_devices() && self.queue.len() > self.site.lanes()
    }

    fn staff(&self) -> Load {
        Load {
            workers: self.site.lanes(),
            starting: self.site.starting(),
            footprint: self.site.footprint(),
            waiting: self.queue.len(),
            in_flight: self.site.in_flight(),
            busy: self.site.busy_lanes(),
            device_use: self.device_use,
            device: self.site.least_busy().occupancy(),
            is_refused: self.is_refused.load(Ordering::Relaxed),
        }
    }
}
