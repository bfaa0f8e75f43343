//! *Staffing*: whether a variant gets another worker, and what is against it. Others get none while it has most to answer:
//! they would only be done sooner with what has to wait for it.

use twinfer_case::{DeviceMemory, DeviceUse, WorkerBound};

/// What there is for the workers of all variants.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Workers that a variant gets at most.
    pub per_variant: usize,
    /// Workers on devices that all variants keep busy at most, about: more than there are cores wait for each other, those that hold
    /// the driver's locks among them.
    pub on_devices: usize,
    /// Bytes for all of them; none where the system does not tell.
    pub memory: Option<u64>,
    /// Workers of all variants that a device serves at once, where that is bounded.
    pub per_device: Option<usize>,
}

/// The workers of a variant, those that are starting among them.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub workers: usize,
    /// Those of them that are starting.
    pub starting: usize,
    /// Bytes that one takes, once it has run cases.
    pub footprint: Option<u64>,
    /// Cases that no worker has taken yet.
    pub waiting: usize,
    /// Those that workers have taken and not answered.
    pub in_flight: usize,
    /// Workers that have such a case.
    pub busy: usize,
    pub device_use: DeviceUse,
    /// The device that the next one would be on, where its workers tell of its memory.
    pub device: Option<Occupancy>,
    /// Whether the last one that was to be added did not start.
    pub is_refused: bool,
}

/// A device as a variant's workers found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// What the last of them said that started.
    pub memory: DeviceMemory,
    /// What one of them takes at most: whatever was taken counted as theirs.
    pub each: u64,
    /// How many more are starting.
    pub starting: usize,
    /// How many of all variants are on it, those outside of lanes too.
    pub workers: usize,
}

/// One core in this many is to stand idle, so that what comes now and then finds one.
const CORES_IDLE: usize = 16;

impl Capacity {
    /// The same where so many of so many cores stood idle although cases waited for workers on devices: half of what may be used
    /// of these are for more workers.
    #[must_use]
    pub fn with_idle(self, (idle, cores): (f64, usize)) -> Self {
        let usable = idle - cores as f64 / CORES_IDLE as f64;
        let more = if usable < 1.0 { 0 } else { (usable / 2.0).ceil() as usize };
        Self { on_devices: self.on_devices.max((self.on_devices + more).min(self.per_variant)), ..self }
    }
}

/// This share of a device's memory is left to what its workers take later.
const DEVICE_RESERVE: u64 = 4;

/// What is against another worker for the variant at `place`; nothing where it is to have one.
pub fn bound(means: Capacity, staffs: &[Load], place: usize) -> Option<WorkerBound> {
    let staff = staffs.get(place)?;
    if staff.device_use == DeviceUse::Alone {
        return Some(WorkerBound::Device);
    }
    let busy: usize = staffs.iter().filter(|staff| staff.device.is_some()).map(Load::busy_soon).sum();
    let are_cores_taken = staff.device.is_some() && busy >= means.on_devices;
    if staff.workers >= means.per_variant || are_cores_taken {
        return Some(WorkerBound::Cores);
    }
    if staff.is_refused {
        return Some(WorkerBound::Start);
    }
    // one that has not run a case yet does not tell what it takes
    let Some(footprint) = staff.footprint else { return Some(WorkerBound::Cases) };
    let taken: u64 = staffs.iter().map(|staff| staff.footprint.unwrap_or(0) * staff.workers as u64).sum();
    if means.memory.is_some_and(|memory| taken + footprint > memory) {
        return Some(WorkerBound::Memory);
    }
    if staff.device.is_some_and(Occupancy::is_full) {
        return Some(WorkerBound::DeviceMemory);
    }
    let left_to_lanes = means.per_device.map(|most| most / 2);
    let on_device = staff.device.map(|device| device.workers + device.starting);
    if left_to_lanes.zip(on_device).is_some_and(|(most, workers)| workers >= most) {
        return Some(WorkerBound::DeviceWorkers);
    }
    let is_last = staffs.iter().enumerate().all(|(other, its)| other == place || !its.is_behind(staff));
    let is_idle = staff.waiting <= staff.workers || !is_last;
    // starting takes seconds on a GPU, in which those that are there may catch up
    let is_growing = staff.starting > 0 && staff.starting >= 2 * (staff.workers - staff.starting);
    (is_idle || is_growing).then_some(WorkerBound::Cases)
}

impl Load {
    /// Whether it has more to answer than another, or as much while it is only beginning: what starts in no time would
    /// otherwise be given all that there is before what takes seconds has run a case.
    const fn is_behind(&self, other: &Self) -> bool {
        let is_beginning = self.starting > 0 || self.footprint.is_none();
        let (unanswered, others) = (self.unanswered(), other.unanswered());
        unanswered > others || is_beginning && unanswered == others
    }

    /// The cases that it is yet to answer. What it has taken counts: many workers that begin take many at once.
    const fn unanswered(&self) -> usize {
        self.waiting + self.in_flight
    }

    /// How many of the workers are busy, once those that are starting have started.
    const fn busy_soon(&self) -> usize {
        self.busy + self.starting
    }
}

impl Occupancy {
    /// What a worker tells that has started beside `workers - 1` others, of whatever variant, after what `earlier` ones told.
    pub fn told(memory: DeviceMemory, workers: usize, earlier: Option<Self>) -> Self {
        let share = memory.total.saturating_sub(memory.free) / workers.max(1) as u64;
        Self { memory, each: share.max(earlier.map_or(0, |earlier| earlier.each)), starting: 0, workers: 0 }
    }

    /// Whether another worker would take what is to be left.
    const fn is_full(self) -> bool {
        let DeviceMemory { free, total } = self.memory;
        let more = self.each.saturating_mul(self.starting as u64 + 1);
        free.saturating_sub(more) < total / DEVICE_RESERVE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIGABYTE: u64 = 1 << 30;
    const MEANS: Capacity =
        Capacity { per_variant: 16, on_devices: 16, memory: Some(60 * GIGABYTE), per_device: None };

    fn staff(footprint: u64) -> Load {
        Load {
            workers: 1,
            starting: 0,
            footprint: Some(footprint),
            waiting: 100,
            in_flight: 0,
            busy: 1,
            device_use: DeviceUse::Shared,
            device: None,
            is_refused: false,
        }
    }

    /// Hires for all in turn until nobody gets more: how many each has, and what is against more.
    fn hired(means: Capacity, mut staffs: Vec<Load>) -> Vec<(usize, WorkerBound)> {
        loop {
            let bounds: Vec<_> = (0..staffs.len()).map(|place| bound(means, &staffs, place)).collect();
            let Some(next) = (0..staffs.len())
                .filter(|place| bounds[*place].is_none())
                .min_by_key(|place| staffs[*place].workers)
            else {
                return staffs.iter().map(|staff| staff.workers).zip(bounds.into_iter().flatten()).collect();
            };
            staffs[next].workers += 1;
            staffs[next].busy += 1;
            if let Some(device) = &mut staffs[next].device {
                device.starting += 1;
            }
        }
    }

    #[test]
    fn a_small_backend_gets_a_worker_a_core() {
        assert_eq!(hired(MEANS, vec![staff(GIGABYTE / 30)]), [(16, WorkerBound::Cores)]);
    }

    #[test]
    fn large_backends_share_the_memory() {
        let large = staff(3 * GIGABYTE);
        let hired = hired(MEANS, vec![large, large, staff(GIGABYTE)]);
        assert_eq!(hired.iter().map(|(workers, _)| *workers).collect::<Vec<_>>(), [9, 8, 9]);
        assert!(hired.iter().all(|(_, bound)| *bound == WorkerBound::Memory), "{hired:?}");
    }

    #[test]
    fn nobody_is_hired_to_stand_idle_or_before_it_is_known_what_one_takes() {
        assert_eq!(hired(MEANS, vec![Load { waiting: 5, ..staff(1) }]), [(5, WorkerBound::Cases)]);
        assert_eq!(hired(MEANS, vec![Load { footprint: None, ..staff(1) }]), [(1, WorkerBound::Cases)]);
    }

    #[test]
    fn only_the_backend_that_others_wait_for_gets_more() {
        let (slow, fast) = (staff(1), Load { waiting: 99, ..staff(1) });
        assert_eq!(hired(MEANS, vec![slow, fast]), [(16, WorkerBound::Cores), (1, WorkerBound::Cases)]);
        let alone = Load { device_use: DeviceUse::Alone, ..staff(1) };
        assert_eq!(hired(MEANS, vec![alone, fast]), [(1, WorkerBound::Device), (1, WorkerBound::Cases)]);
        // one that is only beginning goes before one for which as many wait
        for beginning in [Load { footprint: None, ..slow }, Load { workers: 2, starting: 1, ..slow }] {
            assert_eq!(bound(MEANS, &[beginning, slow], 1), Some(WorkerBound::Cases));
        }
        assert_eq!(bound(MEANS, &[slow, slow], 1), None);
        // what many workers have just taken they are yet to answer
        let just_begun = Load { workers: 8, waiting: 20, in_flight: 128, ..slow };
        assert_eq!(bound(MEANS, &[just_begun, fast], 1), Some(WorkerBound::Cases));
        assert_eq!(bound(MEANS, &[just_begun, fast], 0), None);
    }

    #[test]
    fn twice_as_many_start_at_once_as_have_started() {
        let starting = |workers, starting| bound(MEANS, &[Load { workers, starting, ..staff(1) }], 0);
        assert_eq!(starting(2, 1), None);
        assert_eq!(starting(3, 2), Some(WorkerBound::Cases));
        assert_eq!(starting(5, 3), None);
        assert_eq!(starting(6, 4), Some(WorkerBound::Cases));
    }

    #[test]
    fn on_devices_all_variants_share_the_cores_but_for_those_that_stand_idle() {
        let means = Capacity { on_devices: 13, ..MEANS };
        let memory = DeviceMemory { free: 139 * GIGABYTE, total: 140 * GIGABYTE };
        let on_device =
            |waiting| Load { waiting, device: Some(Occupancy::told(memory, 1, None)), ..staff(GIGABYTE) };
        let workers =
            |staffs| hired(means, staffs).into_iter().map(|(workers, _)| workers).collect::<Vec<_>>();
        assert_eq!(workers(vec![on_device(100)]), [13]);
        assert_eq!(workers(vec![on_device(100), on_device(100)]), [7, 6]);
        assert_eq!(workers(vec![Load { workers: 3, busy: 1, ..on_device(0) }, on_device(100)]), [3, 12]);
        assert_eq!(
            workers(vec![staff(1), on_device(100)]),
            [16, 13],
            "what is on no device has the cores too"
        );
    }

    #[test]
    fn where_cores_stand_idle_more_workers_on_devices_are_hired_but_for_one_in_sixteen() {
        let means = Capacity { on_devices: 12, ..MEANS };
        let most = |idle| means.with_idle((idle, 16)).on_devices;
        assert_eq!([0.0, 1.9, 2.0, 3.5, 5.1, 16.0].map(most), [12, 12, 13, 14, 15, 16]);
        let means = Capacity { on_devices: 20, ..MEANS };
        assert_eq!(means.with_idle((9.0, 16)).on_devices, 20, "nobody is dismissed");
        let means = Capacity { per_variant: 8, on_devices: 6, ..MEANS };
        assert_eq!(means.with_idle((60.0, 64)).on_devices, 8, "whoever asked for less has a reason");
    }

    #[test]
    fn a_backend_that_wants_its_device_alone_gets_nobody_else() {
        let alone = Load { device_use: DeviceUse::Alone, ..staff(1) };
        assert_eq!(hired(MEANS, vec![alone]), [(1, WorkerBound::Device)]);
        let refused = Load { is_refused: true, ..staff(1) };
        assert_eq!(hired(MEANS, vec![refused]), [(1, WorkerBound::Start)]);
    }

    #[test]
    fn a_quarter_of_a_device_is_left_free() {
        let memory = DeviceMemory { free: 22 * GIGABYTE, total: 24 * GIGABYTE };
        let device = Some(Occupancy::told(memory, 1, None));
        assert_eq!(hired(MEANS, vec![Load { device, ..staff(1) }]), [(9, WorkerBound::DeviceMemory)]);
        // others may have started meanwhile, and not taken theirs yet
        let device = Some(Occupancy::told(DeviceMemory { free: 16 * GIGABYTE, ..memory }, 8, device));
        let workers = 8;
        assert_eq!(
            hired(MEANS, vec![Load { workers, device, ..staff(1) }]),
            [(13, WorkerBound::DeviceMemory)]
        );
    }

    #[test]
    fn half_of_the_processes_of_a_device_are_left_to_others() {
        let means = Capacity { per_device: Some(20), ..MEANS };
        let memory = DeviceMemory { free: 139 * GIGABYTE, total: 140 * GIGABYTE };
        let device = |workers| Some(Occupancy { workers, ..Occupancy::told(memory, 1, None) });
        let hired_beside = |workers| hired(means, vec![Load { device: device(workers), ..staff(1) }]);
        assert_eq!(hired_beside(1), [(10, WorkerBound::DeviceWorkers)]);
        // of another variant, or outside of lanes
        assert_eq!(hired_beside(7), [(4, WorkerBound::DeviceWorkers)]);
        assert_eq!(hired(means, vec![staff(1)]), [(16, WorkerBound::Cores)], "it is on no device");
    }

    #[test]
    fn where_the_system_does_not_tell_of_memory_the_cores_count() {
        let means = Capacity { memory: None, ..MEANS };
        assert_eq!(hired(means, vec![staff(90 * GIGABYTE)]), [(16, WorkerBound::Cores)]);
    }
}
