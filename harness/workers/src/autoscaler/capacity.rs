//! Whether a variant gets another worker, and what prevents it.
//!
//! Only the variant with the most unanswered cases gets more workers: a case is done when the slowest variant has answered.

use twinfer_case::{DeviceUse, WorkerBound};

use crate::device::occupancy::Occupancy;

/// The resources that the workers of all variants share.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// The most workers of one variant.
    pub per_variant: usize,
    /// About the most busy workers on devices, over all variants. With more of them than cores they wait for each other, also
    /// while they hold the driver's locks.
    pub on_devices: usize,
    /// Bytes for all workers; `None` if the system does not report its memory.
    pub memory: Option<u64>,
    /// The most processes that one device serves; `None` if there is no such limit.
    pub per_device: Option<usize>,
}

/// The workers of one variant, including those that are starting, and their cases.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Workers, including those that are starting.
    pub workers: usize,
    /// Workers that are starting.
    pub starting: usize,
    /// Bytes that one worker holds; `None` before one has run cases.
    pub footprint: Option<u64>,
    /// Cases in the variant's queue.
    pub queued: usize,
    /// Cases that workers have received and not answered.
    pub in_flight: usize,
    /// Workers with cases in flight.
    pub busy: usize,
    /// Whether workers share their device.
    pub device_use: DeviceUse,
    /// The device of the next worker; `None` if the variant's workers use none.
    pub device: Option<Occupancy>,
    /// How many of the workers are on that device.
    pub on_device: usize,
    /// Whether the last additional worker did not start.
    pub start_failed: bool,
}

/// One core in this many is to stay idle, for work that comes now and then.
const IDLE_CORES: usize = 16;

/// One part in this many of the processes that a device allows is left to workers that triage uses. Those that are idle make room for each
/// other, so what counts is not how many there are.
const TRIAGE_SHARE: usize = 2;

impl Capacity {
    /// More busy workers on devices, if so many of so many cores were idle while cases waited: half of the idle cores
    /// beyond [`IDLE_CORES`] get one.
    #[must_use]
    pub fn with_idle_cores(self, (idle, cores): (f64, usize)) -> Self {
        let usable = idle - cores as f64 / IDLE_CORES as f64;
        let more = if usable < 1.0 { 0 } else { (usable / 2.0).ceil() as usize };
        Self { on_devices: self.on_devices.max((self.on_devices + more).min(self.per_variant)), ..self }
    }

    /// What prevents another worker of `variant`, an index into `loads`; `None` if it is to get one.
    pub fn bound(self, loads: &[Load], variant: usize) -> Option<WorkerBound> {
        let load = loads.get(variant)?;
        if load.device_use == DeviceUse::Alone {
            return Some(WorkerBound::Device);
        }
        if self.are_cores_taken(loads, load) {
            return Some(WorkerBound::Cores);
        }
        if load.start_failed {
            return Some(WorkerBound::Start);
        }
        // a worker's memory is known once one has run cases
        let Some(footprint) = load.footprint else { return Some(WorkerBound::Cases) };
        if self.is_memory_taken(loads, footprint) {
            return Some(WorkerBound::Memory);
        }
        if load.device.is_some_and(Occupancy::is_full) {
            return Some(WorkerBound::DeviceMemory);
        }
        if self.is_device_crowded(loads, load) {
            return Some(WorkerBound::DeviceWorkers);
        }
        let is_slowest =
            loads.iter().enumerate().all(|(other, its)| other == variant || !its.is_behind(load));
        (load.has_enough_workers() || !is_slowest || load.is_growing()).then_some(WorkerBound::Cases)
    }

    fn are_cores_taken(self, loads: &[Load], load: &Load) -> bool {
        let busy: usize = loads.iter().filter(|load| load.device.is_some()).map(Load::busy_soon).sum();
        load.workers >= self.per_variant || load.device.is_some() && busy >= self.on_devices
    }

    fn is_memory_taken(self, loads: &[Load], footprint: u64) -> bool {
        let taken: u64 = loads.iter().map(|load| load.footprint.unwrap_or(0) * load.workers as u64).sum();
        self.memory.is_some_and(|memory| taken + footprint > memory)
    }

    fn is_device_crowded(self, loads: &[Load], load: &Load) -> bool {
        let most = self.per_device.filter(|_| load.device.is_some()).map(|most| most / TRIAGE_SHARE);
        let executors = loads.iter().filter(|load| load.device.is_some()).map(|load| load.on_device).sum();
        most.is_some_and(|most: usize| most <= executors)
    }
}

impl Load {
    /// Whether this variant has more unanswered cases than `other`, or as many while its first workers start. Otherwise variants that
    /// start quickly would take all memory before one that takes seconds to start has run a case.
    const fn is_behind(&self, other: &Self) -> bool {
        let is_beginning = self.starting > 0 || self.footprint.is_none();
        let (unanswered, others) = (self.unanswered(), other.unanswered());
        unanswered > others || is_beginning && unanswered == others
    }

    /// Cases without an answer. Those in flight count: many workers that begin receive many at once.
    const fn unanswered(&self) -> usize {
        self.queued + self.in_flight
    }

    /// Workers that will be busy once those that are starting have started.
    const fn busy_soon(&self) -> usize {
        self.busy + self.starting
    }

    /// Whether another worker would find no case in the queue.
    const fn has_enough_workers(&self) -> bool {
        self.queued <= self.workers
    }

    /// Whether twice as many workers are starting as have started: starting one takes seconds on a GPU, and the others
    /// may catch up in that time.
    const fn is_growing(&self) -> bool {
        self.starting > 0 && self.starting >= 2 * (self.workers - self.starting)
    }
}

#[cfg(test)]
mod tests {
    use twinfer_case::DeviceMemory;

    use super::*;

    const GIGABYTE: u64 = 1 << 30;
    const CAPACITY: Capacity =
        Capacity { per_variant: 16, on_devices: 16, memory: Some(60 * GIGABYTE), per_device: None };

    fn load(footprint: u64) -> Load {
        Load {
            workers: 1,
            starting: 0,
            footprint: Some(footprint),
            queued: 100,
            in_flight: 0,
            busy: 1,
            device_use: DeviceUse::Shared,
            device: None,
            on_device: 1,
            start_failed: false,
        }
    }

    /// Adds workers in turn until no variant gets more: how many each has, and what prevents more.
    fn scaled(capacity: Capacity, mut loads: Vec<Load>) -> Vec<(usize, WorkerBound)> {
        loop {
            let bounds: Vec<_> = (0..loads.len()).map(|variant| capacity.bound(&loads, variant)).collect();
            let Some(next) = (0..loads.len())
                .filter(|variant| bounds[*variant].is_none())
                .min_by_key(|variant| loads[*variant].workers)
            else {
                return loads.iter().map(|load| load.workers).zip(bounds.into_iter().flatten()).collect();
            };
            loads[next].workers += 1;
            loads[next].busy += 1;
            loads[next].on_device += 1;
            if let Some(device) = &mut loads[next].device {
                device.starting += 1;
            }
        }
    }

    #[test]
    fn small_backend_gets_a_worker_per_core() {
        assert_eq!(scaled(CAPACITY, vec![load(GIGABYTE / 30)]), [(16, WorkerBound::Cores)]);
    }

    #[test]
    fn large_backends_share_the_memory() {
        let large = load(3 * GIGABYTE);
        let scaled = scaled(CAPACITY, vec![large, large, load(GIGABYTE)]);
        assert_eq!(scaled.iter().map(|(workers, _)| *workers).collect::<Vec<_>>(), [9, 8, 9]);
        assert!(scaled.iter().all(|(_, bound)| *bound == WorkerBound::Memory), "{scaled:?}");
    }

    #[test]
    fn workers_without_cases_are_not_added() {
        assert_eq!(scaled(CAPACITY, vec![Load { queued: 5, ..load(1) }]), [(5, WorkerBound::Cases)]);
    }

    #[test]
    fn variant_of_unknown_footprint_gets_no_second_worker() {
        assert_eq!(scaled(CAPACITY, vec![Load { footprint: None, ..load(1) }]), [(1, WorkerBound::Cases)]);
    }

    #[test]
    fn only_the_slowest_variant_gets_workers() {
        let (slow, fast) = (load(1), Load { queued: 99, ..load(1) });
        assert_eq!(scaled(CAPACITY, vec![slow, fast]), [(16, WorkerBound::Cores), (1, WorkerBound::Cases)]);
        let exclusive = Load { device_use: DeviceUse::Alone, ..load(1) };
        assert_eq!(
            scaled(CAPACITY, vec![exclusive, fast]),
            [(1, WorkerBound::Device), (1, WorkerBound::Cases)]
        );
    }

    #[test]
    fn beginning_variant_counts_as_slower() {
        let slow = load(1);
        for beginning in [Load { footprint: None, ..slow }, Load { workers: 2, starting: 1, ..slow }] {
            assert_eq!(CAPACITY.bound(&[beginning, slow], 1), Some(WorkerBound::Cases));
        }
        assert_eq!(CAPACITY.bound(&[slow, slow], 1), None);
    }

    #[test]
    fn cases_in_flight_count_as_unanswered() {
        let (slow, fast) = (load(1), Load { queued: 99, ..load(1) });
        let with_many_in_flight = Load { workers: 8, queued: 20, in_flight: 128, ..slow };
        assert_eq!(CAPACITY.bound(&[with_many_in_flight, fast], 1), Some(WorkerBound::Cases));
        assert_eq!(CAPACITY.bound(&[with_many_in_flight, fast], 0), None);
    }

    #[test]
    fn twice_as_many_start_at_once_as_have_started() {
        let starting = |workers, starting| CAPACITY.bound(&[Load { workers, starting, ..load(1) }], 0);
        assert_eq!(starting(2, 1), None);
        assert_eq!(starting(3, 2), Some(WorkerBound::Cases));
        assert_eq!(starting(5, 3), None);
        assert_eq!(starting(6, 4), Some(WorkerBound::Cases));
    }

    #[test]
    fn variants_on_devices_share_the_cores() {
        let capacity = Capacity { on_devices: 13, ..CAPACITY };
        let memory = DeviceMemory { free: 139 * GIGABYTE, total: 140 * GIGABYTE };
        let on_device =
            |queued| Load { queued, device: Some(Occupancy::measured(memory, 1, None)), ..load(GIGABYTE) };
        let workers =
            |loads| scaled(capacity, loads).into_iter().map(|(workers, _)| workers).collect::<Vec<_>>();
        assert_eq!(workers(vec![on_device(100)]), [13]);
        assert_eq!(workers(vec![on_device(100), on_device(100)]), [7, 6]);
        assert_eq!(workers(vec![Load { workers: 3, busy: 1, ..on_device(0) }, on_device(100)]), [3, 12]);
        assert_eq!(workers(vec![load(1), on_device(100)]), [16, 13], "one without a device has all cores");
    }

    #[test]
    fn idle_cores_allow_more_workers_on_devices() {
        let capacity = Capacity { on_devices: 12, ..CAPACITY };
        let on_devices = |idle| capacity.with_idle_cores((idle, 16)).on_devices;
        assert_eq!([0.0, 1.9, 2.0, 3.5, 5.1, 16.0].map(on_devices), [12, 12, 13, 14, 15, 16]);
        let capacity = Capacity { on_devices: 20, ..CAPACITY };
        assert_eq!(capacity.with_idle_cores((9.0, 16)).on_devices, 20, "it never gets smaller");
        let capacity = Capacity { per_variant: 8, on_devices: 6, ..CAPACITY };
        assert_eq!(capacity.with_idle_cores((60.0, 64)).on_devices, 8, "a lower limit was requested");
    }

    #[test]
    fn variant_that_cannot_scale_keeps_one_worker() {
        let exclusive = Load { device_use: DeviceUse::Alone, ..load(1) };
        assert_eq!(scaled(CAPACITY, vec![exclusive]), [(1, WorkerBound::Device)]);
        let failed = Load { start_failed: true, ..load(1) };
        assert_eq!(scaled(CAPACITY, vec![failed]), [(1, WorkerBound::Start)]);
    }

    #[test]
    fn quarter_of_a_device_is_left_free() {
        let memory = DeviceMemory { free: 22 * GIGABYTE, total: 24 * GIGABYTE };
        let device = Some(Occupancy::measured(memory, 1, None));
        assert_eq!(scaled(CAPACITY, vec![Load { device, ..load(1) }]), [(9, WorkerBound::DeviceMemory)]);
        // other workers may have started meanwhile, and not allocated yet
        let device = Some(Occupancy::measured(DeviceMemory { free: 16 * GIGABYTE, ..memory }, 8, device));
        let workers = 8;
        assert_eq!(
            scaled(CAPACITY, vec![Load { workers, device, ..load(1) }]),
            [(13, WorkerBound::DeviceMemory)]
        );
    }

    #[test]
    fn half_of_a_devices_processes_are_left_to_triage() {
        let capacity = Capacity { per_device: Some(20), ..CAPACITY };
        let memory = DeviceMemory { free: 139 * GIGABYTE, total: 140 * GIGABYTE };
        let device = |workers| Some(Occupancy { workers, ..Occupancy::measured(memory, 1, None) });
        let beside = |workers| Load { device: device(workers), ..load(1) };
        assert_eq!(scaled(capacity, vec![beside(1)]), [(10, WorkerBound::DeviceWorkers)]);
        assert_eq!(
            scaled(capacity, vec![beside(19)]),
            [(10, WorkerBound::DeviceWorkers)],
            "others make room"
        );
        let other = Load { on_device: 6, queued: 0, ..beside(1) };
        assert_eq!(scaled(capacity, vec![other, beside(1)])[1], (4, WorkerBound::DeviceWorkers));
        assert_eq!(scaled(capacity, vec![load(1)]), [(16, WorkerBound::Cores)], "it uses no device");
    }

    #[test]
    fn without_reported_memory_the_cores_count() {
        let capacity = Capacity { memory: None, ..CAPACITY };
        assert_eq!(scaled(capacity, vec![load(90 * GIGABYTE)]), [(16, WorkerBound::Cores)]);
    }
}
