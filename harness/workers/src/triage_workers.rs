use std::{
    num::NonZeroUsize,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use twinfer_case::{DeviceUse, EncodedCase, Observation, Task, VariantInfo};

use crate::{
    WorkerError,
    device_pools::{DevicePools, NicedWorkers},
    pool::{SpareRequest, WorkerPool, lost, observe},
    process::WorkerProcess,
    semaphore::{Priority, Semaphore},
    sequential::{SequentialRun, SequentialWorkers},
};

/// One variant with the workers that serve it outside the campaign's lanes.
pub struct TriageWorkers {
    info: VariantInfo,
    site: Arc<DevicePools>,
    /// Workers that have run cases and wait for more.
    warm: Mutex<Vec<WorkerProcess>>,
    /// Those of a rung, which has no lanes.
    steady: SequentialWorkers,
    hands: NonZeroUsize,
    /// Minimisations under way, which share the hands.
    shares: AtomicUsize,
    /// Lets no more cases run in warm workers than there are hands: for each more a worker would be started, and dropped.
    warmed: Semaphore,
    /// Lets as many workers be busy as the backend's use of devices allows.
    busy: Arc<Semaphore>,
}

/// Workers on a device that are busy outside the campaign's lanes: each takes seconds of starting, and memory there.
const HANDS_A_DEVICE: usize = 4;

/// A part of a crew's hands, until it is dropped.
pub struct Lease<'a>(&'a AtomicUsize);

impl TriageWorkers {
    /// A crew of at most `hands` workers at once, fewer where they are on devices.
    pub fn new(info: VariantInfo, site: Arc<DevicePools>, hands: NonZeroUsize) -> Self {
        let devices = site.pools().len();
        let (hands, width) = match info.description.device_use {
            DeviceUse::Alone => (devices, devices),
            DeviceUse::Shared if site.is_on_devices() => {
                (hands.get().min(HANDS_A_DEVICE * devices), usize::MAX)
            }
            DeviceUse::Shared => (hands.get(), usize::MAX),
        };
        let hands = NonZeroUsize::new(hands).unwrap_or(NonZeroUsize::MIN);
        Self {
            info,
            site,
            warm: Mutex::default(),
            steady: SequentialWorkers::default(),
            hands,
            shares: AtomicUsize::new(0),
            warmed: Semaphore::new(hands.get()),
            busy: Arc::new(Semaphore::new(width)),
        }
    }

    /// The same, with a worker for the cases of the campaign.
    #[must_use]
    pub fn with_sequential(self, worker: WorkerProcess) -> Self {
        self.steady.join(worker);
        self
    }

    /// The same, whose workers take turns with others behind `gate`.
    #[must_use]
    pub fn with_semaphore(self, gate: &Arc<Semaphore>) -> Self {
        Self { busy: Arc::clone(gate), ..self }
    }

    /// A crew of one, whose worker is started now.
    pub fn start(nursery: Arc<WorkerPool>) -> Result<Self, WorkerError> {
        let worker = nursery.take()?;
        let info = VariantInfo {
            variant: nursery.variant().clone(),
            description: worker.description().clone(),
            rung_of: None,
        };
        let crew = Self::new(info, Arc::new(DevicePools::of(vec![nursery])), NonZeroUsize::MIN);
        crew.keep(Some(worker));
        Ok(crew)
    }

    /// Which variant, and what its backend says of itself.
    pub const fn info(&self) -> &VariantInfo {
        &self.info
    }

    /// Has workers started that will be needed soon, having run nothing.
    pub fn request_fresh(&self, workers: usize) -> SpareRequest {
        self.site.next().request_spares(workers)
    }

    /// Takes part in what [`limit_per_lease`](Self::limit_per_lease) divides.
    pub fn lease(&self) -> Lease<'_> {
        self.shares.fetch_add(1, Ordering::Relaxed);
        Lease(&self.shares)
    }

    /// How many investigations it is worth to have at once: more would only wait for each other's workers.
    pub const fn limit(&self) -> usize {
        self.hands.get()
    }

    /// How many cases each of those that share the crew may run at once.
    pub fn limit_per_lease(&self) -> usize {
        (self.hands.get() / self.shares.load(Ordering::Relaxed).max(1)).max(1)
    }

    /// What the variant does with a case in a worker that has run nothing else.
    pub fn observe_fresh(&self, task: &Task) -> Result<Observation, WorkerError> {
        let _busy = self.busy.enter(Priority::Needed);
        let trial = self.site.try_fresh(task, None)?;
        self.keep(trial.survivor);
        Ok(trial.observation)
    }

    /// What the variant does with a case in a worker that has run others.
    pub fn observe_warm(&self, task: &Task) -> Result<Observation, WorkerError> {
        let _warm = self.warmed.enter(Priority::Needed);
        let _busy = self.busy.enter(Priority::Needed);
        let waiting = self.waiting().pop();
        let mut worker = waiting.map_or_else(|| self.site.somewhere(WorkerPool::take), Ok)?;
        if self.site.niced() == NicedWorkers::Triage {
            worker.step_back();
        }
        match observe(&mut worker, task) {
            Ok(observation) => {
                self.keep(Some(worker));
                Ok(observation)
            }
            Err((_, loss)) => {
                drop(worker);
                let trial = self.site.try_fresh(task, Some(&loss))?;
                self.keep(trial.survivor);
                Ok(trial.observation)
            }
        }
    }

    /// What the variant does with the case at `index` in a worker that has run nothing but cases of the campaign.
    pub fn observe_in_sequence(&self, index: u64, task: &Task) -> Result<SequentialRun, WorkerError> {
        let _busy = self.busy.enter(Priority::Needed);
        self.steady.observe(&self.site, index, task)
    }

    /// Lets a worker wait for more cases, unless there are as many as can be busy.
    fn keep(&self, worker: Option<WorkerProcess>) {
        let mut waiting = self.waiting();
        let room = waiting.len() < self.hands.get();
        waiting.extend(worker.filter(|worker| room && !worker.is_spent()));
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<WorkerProcess>> {
        self.warm.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the variant does with a case in a worker that has run `history` and nothing else; `None` where one of those
    /// ends it, or something outside does.
    pub fn observe_after(
        &self,
        history: &[Arc<EncodedCase>],
        prepared: &EncodedCase,
    ) -> Result<Option<Observation>, WorkerError> {
        let mut worker = self.site.somewhere(WorkerPool::take)?;
        for earlier in history {
            if observe(&mut worker, &earlier.task).is_err() {
                return Ok(None);
            }
        }
        match observe(&mut worker, &prepared.task) {
            Ok(observation) => Ok(Some(observation)),
            Err((_, loss)) if loss.is_from_outside() => Ok(None),
            Err((stage, loss)) => lost(&self.info.variant, stage, &loss).map(Some),
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
