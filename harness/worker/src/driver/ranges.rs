use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::{
    CudaError,
    memory::{Address, Context, MOST_IDLE, Tally},
};

const INVALID_VALUE: CudaError = CudaError(1);

/// A `CUmemGenericAllocationHandle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle(pub u64);

/// A `CUmemAllocationProp`, byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties(pub [u8; 32]);

/// A `CUmemAccessDesc`, byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access(pub [u8; 12]);

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub address: Address,
    pub bytes: u64,
}

/// What `cuMemMap` is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub range: Range,
    pub offset: u64,
    pub handle: Handle,
    pub flags: u64,
}

/// What is asked of the CUDA driver.
pub trait Driver {
    /// The context that is current.
    fn context(&self) -> Result<Context, CudaError>;
    /// Waits for all that the context was given to do.
    fn synchronize(&self) -> Result<(), CudaError>;
    /// Has zeros written.
    fn clear(&self, range: Range) -> Result<(), CudaError>;
    fn reserve(&self, bytes: u64, alignment: u64) -> Result<Address, CudaError>;
    fn create(&self, bytes: u64, properties: &Properties) -> Result<Handle, CudaError>;
    fn map(&self, mapping: &Mapping) -> Result<(), CudaError>;
    fn set_access(&self, range: Range, accesses: &[Access]) -> Result<(), CudaError>;
    fn unmap(&self, range: Range) -> Result<(), CudaError>;
    fn release(&self, handle: Handle) -> Result<(), CudaError>;
    fn free(&self, range: Range) -> Result<(), CudaError>;
}

/// Virtual memory: ranges of addresses with the device memory that was mapped there, which stay together when a library unmaps
/// and releases them, for when it reserves and creates as much again.
///
/// What a library is told is what it would be told by a driver that happens to give the same addresses and the same memory
/// again. Unmapping waits for the context; memory that is mapped again is zero. Whatever is done in another way, part of a
/// mapping, several accesses, a handle at other addresses, is the driver's, which is given first what stood against it.
pub struct Ranges {
    state: Mutex<State>,
    asked: AtomicU64,
    answered_by_driver: AtomicU64,
}

/// The virtual memory of this process.
pub static RANGES: Ranges = Ranges::new();

struct State {
    ranges: BTreeMap<Address, Reserved>,
    handles: BTreeMap<Handle, Created>,
    /// What the driver has mapped, all of a handle at all of a range, by address.
    bonds: BTreeMap<Address, Bond>,
}

struct Reserved {
    bytes: u64,
    alignment: u64,
    /// Whether the library has it.
    is_lent: bool,
}

struct Created {
    bytes: u64,
    properties: Properties,
    is_lent: bool,
}

#[derive(Clone, Copy)]
struct Bond {
    handle: Handle,
    bytes: u64,
    context: Context,
    access: Option<Access>,
    /// Whether it is mapped for the library too.
    is_mapped: bool,
}

impl Ranges {
    pub const fn new() -> Self {
        let state = State { ranges: BTreeMap::new(), handles: BTreeMap::new(), bonds: BTreeMap::new() };
        Self { state: Mutex::new(state), asked: AtomicU64::new(0), answered_by_driver: AtomicU64::new(0) }
    }

    /// How much memory was to be created.
    pub fn tally(&self) -> Tally {
        Tally { asked: self.asked.load(Relaxed), answered_by_driver: self.answered_by_driver.load(Relaxed) }
    }

    /// Addresses that were in use before, or else the driver's.
    pub fn reserve(&self, bytes: u64, alignment: u64, driver: &impl Driver) -> Result<Address, CudaError> {
        let mut state = self.state();
        if let Some(address) = state.idle_range(bytes, alignment) {
            return Ok(address);
        }
        let address = driver.reserve(bytes, alignment)?;
        // what was there before went back to the driver behind our back
        state.forget(address);
        state.ranges.insert(address, Reserved { bytes, alignment, is_lent: true });
        Ok(address)
    }

    /// Memory that was in use before, or else the driver's.
    pub fn create(
        &self,
        bytes: u64,
        properties: &Properties,
        driver: &impl Driver,
    ) -> Result<Handle, CudaError> {
        self.asked.fetch_add(1, Relaxed);
        let mut state = self.state();
        if let Some(handle) = state.idle_handle(bytes, properties) {
            return Ok(handle);
        }
        self.answered_by_driver.fetch_add(1, Relaxed);
        let handle = driver.create(bytes, properties).or_else(|_| {
            state.give_back(driver);
            driver.create(bytes, properties)
        })?;
        state.handles.insert(handle, Created { bytes, properties: *properties, is_lent: true });
        Ok(handle)
    }

    pub fn map(&self, mapping: &Mapping, driver: &impl Driver) -> Result<(), CudaError> {
        let mut state = self.state();
        let context = driver.context().ok().filter(|context| context.0 != 0);
        if state.is_mapped_still(mapping, context, driver) {
            return Ok(());
        }
        let Mapping { range, handle, .. } = *mapping;
        state.part(|address, bond| bond.handle == handle || range.meets(address, bond.bytes), driver);
        driver.map(mapping)?;
        if let Some(context) = context
            && state.are_whole(mapping)
        {
            let bond = Bond { handle, bytes: range.bytes, context, access: None, is_mapped: true };
            state.bonds.insert(range.address, bond);
        }
        Ok(())
    }

    pub fn set_access(
        &self,
        range: Range,
        accesses: &[Access],
        driver: &impl Driver,
    ) -> Result<(), CudaError> {
        let mut state = self.state();
        let access = match accesses {
            [access] => Some(*access),
            _ => None,
        };
        let bond = state.mapped(range);
        if let Some((bond, access)) = bond.zip(access)
            && bond.access == Some(access)
        {
            return Ok(());
        }
        // what is accessed in part, or in more ways than one, is not handed out again
        let is_simple = bond.is_some_and(|bond| bond.access.is_none()) && access.is_some();
        if !is_simple {
            state.bonds.retain(|address, bond| !range.meets(*address, bond.bytes));
        }
        driver.set_access(range, accesses)?;
        if let Some(bond) = state.bonds.get_mut(&range.address) {
            bond.access = access;
        }
        Ok(())
    }

    /// Leaves it mapped for when it is mapped again, or else has the driver unmap it.
    pub fn unmap(&self, range: Range, driver: &impl Driver) -> Result<(), CudaError> {
        let mut state = self.state();
        let has_room = state.idle_bytes() + range.bytes <= MOST_IDLE;
        let kept = state.mapped(range).filter(|bond| {
            has_room
                && bond.access.is_some()
                && driver.context() == Ok(bond.context)
                && driver.synchronize().is_ok()
        });
        if kept.is_some()
            && let Some(bond) = state.bonds.get_mut(&range.address)
        {
            bond.is_mapped = false;
            return Ok(());
        }
        // what is no longer mapped for the library it cannot unmap
        if state.bonds.get(&range.address).is_some_and(|bond| !bond.is_mapped) {
            return Err(INVALID_VALUE);
        }
        state.bonds.retain(|address, bond| !range.meets(*address, bond.bytes));
        driver.unmap(range)
    }

    pub fn release(&self, handle: Handle, driver: &impl Driver) -> Result<(), CudaError> {
        let mut state = self.state();
        let is_bound = state.bonds.values().any(|bond| bond.handle == handle && !bond.is_mapped);
        match state.handles.get_mut(&handle) {
            Some(created) if !created.is_lent => return Err(INVALID_VALUE),
            Some(created) if is_bound => {
                created.is_lent = false;
                return Ok(());
            }
            _ => {}
        }
        // its memory lasts until it is unmapped, which the driver is to see
        state.bonds.retain(|_, bond| bond.handle != handle);
        state.handles.remove(&handle);
        driver.release(handle)
    }

    pub fn free(&self, range: Range, driver: &impl Driver) -> Result<(), CudaError> {
        let mut state = self.state();
        let bond = state.bonds.get(&range.address).filter(|bond| bond.bytes == range.bytes);
        let is_bound = bond.is_some_and(|bond| !bond.is_mapped);
        match state.ranges.get_mut(&range.address) {
            Some(reserved) if !reserved.is_lent => return Err(INVALID_VALUE),
            Some(reserved) if is_bound => {
                reserved.is_lent = false;
                return Ok(());
            }
            _ => {}
        }
        driver.free(range)?;
        state.ranges.remove(&range.address);
        Ok(())
    }

    /// Gives the driver all that is idle.
    pub fn give_back(&self, driver: &impl Driver) {
        self.state().give_back(driver);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Lends addresses at which memory is mapped that nobody has mapped, best where the memory is lent already.
    fn idle_range(&mut self, bytes: u64, alignment: u64) -> Option<Address> {
        let fits = |(address, bond): &(&Address, &Bond)| {
            let reserved = self.ranges.get(address);
            let is_it = |it: &Reserved| !it.is_lent && (it.bytes, it.alignment) == (bytes, alignment);
            !bond.is_mapped && reserved.is_some_and(is_it)
        };
        let is_lent = |bond: &Bond| self.handles.get(&bond.handle).is_some_and(|created| created.is_lent);
        let found = self.bonds.iter().filter(fits).max_by_key(|(_, bond)| is_lent(bond));
        let address = *found?.0;
        self.ranges.get_mut(&address)?.is_lent = true;
        Some(address)
    }

    /// Lends memory that is mapped where nobody has it mapped, best where the addresses are lent already.
    fn idle_handle(&mut self, bytes: u64, properties: &Properties) -> Option<Handle> {
        let fits = |(_, bond): &(&Address, &Bond)| {
            let is_it = |it: &Created| !it.is_lent && (it.bytes, &it.properties) == (bytes, properties);
            !bond.is_mapped && self.handles.get(&bond.handle).is_some_and(is_it)
        };
        let is_lent = |address: &Address| self.ranges.get(address).is_some_and(|range| range.is_lent);
        let found = self.bonds.iter().filter(fits).max_by_key(|(address, _)| is_lent(address));
        let handle = found?.1.handle;
        self.handles.get_mut(&handle)?.is_lent = true;
        Some(handle)
    }

    /// Whether the driver has mapped just this, which is zero now and the library's again.
    fn is_mapped_still(&mut self, mapping: &Mapping, context: Option<Context>, driver: &impl Driver) -> bool {
        let Mapping { range, handle, .. } = *mapping;
        let are_whole = self.are_whole(mapping);
        let Some(bond) = self.bonds.get_mut(&range.address) else { return false };
        let is_it = are_whole && bond.handle == handle && !bond.is_mapped && Some(bond.context) == context;
        // whoever gets it may write to it on any stream
        bond.is_mapped = is_it && driver.clear(range).and_then(|()| driver.synchronize()).is_ok();
        bond.is_mapped
    }

    /// Whether all of a handle is to be mapped at all of a range, both lent by us.
    fn are_whole(&self, mapping: &Mapping) -> bool {
        let Mapping { range, offset, handle, flags } = *mapping;
        let reserved = self.ranges.get(&range.address);
        let created = self.handles.get(&handle);
        (offset, flags) == (0, 0)
            && reserved.is_some_and(|reserved| reserved.is_lent && reserved.bytes == range.bytes)
            && created.is_some_and(|created| created.is_lent && created.bytes == range.bytes)
    }

    /// What is mapped for the library, all of it.
    fn mapped(&self, range: Range) -> Option<Bond> {
        let bond = self.bonds.get(&range.address)?;
        (bond.is_mapped && bond.bytes == range.bytes).then_some(*bond)
    }

    /// Has the driver unmap those that `is_concerned` says and nobody has mapped; what nobody has at all it gets back.
    fn part(&mut self, is_concerned: impl Fn(Address, &Bond) -> bool, driver: &impl Driver) {
        let concerned = |(address, bond): (&Address, &Bond)| {
            (!bond.is_mapped && is_concerned(*address, bond)).then_some((*address, *bond))
        };
        let bonds: Vec<_> = self.bonds.iter().filter_map(concerned).collect();
        for (address, Bond { handle, bytes, .. }) in bonds {
            let range = Range { address, bytes };
            self.bonds.remove(&address);
            let _ = driver.unmap(range);
            if self.handles.get(&handle).is_some_and(|created| !created.is_lent) {
                self.handles.remove(&handle);
                let _ = driver.release(handle);
            }
            if self.ranges.get(&address).is_some_and(|reserved| !reserved.is_lent) {
                self.ranges.remove(&address);
                let _ = driver.free(range);
            }
        }
    }

    fn give_back(&mut self, driver: &impl Driver) {
        let idle: Vec<_> = self.idle().map(|(address, _)| address).collect();
        self.part(|address, _| idle.contains(&address), driver);
    }

    /// Of which the library has neither the addresses nor the memory.
    fn idle(&self) -> impl Iterator<Item = (Address, &Bond)> {
        let is_idle = |(address, bond): &(&Address, &Bond)| {
            self.ranges.get(address).is_some_and(|reserved| !reserved.is_lent)
                && self.handles.get(&bond.handle).is_some_and(|created| !created.is_lent)
        };
        self.bonds.iter().filter(is_idle).map(|(address, bond)| (*address, bond))
    }

    fn idle_bytes(&self) -> u64 {
        self.bonds.values().filter(|bond| !bond.is_mapped).map(|bond| bond.bytes).sum()
    }

    /// Drops what is known of an address.
    fn forget(&mut self, address: Address) {
        self.bonds.remove(&address);
        self.ranges.remove(&address);
    }
}

impl Range {
    /// Whether it has an address in common with so many bytes from `address` on.
    const fn meets(self, address: Address, bytes: u64) -> bool {
        self.address.0 < address.0.saturating_add(bytes)
            && address.0 < self.address.0.saturating_add(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const MEBIBYTE: u64 = 1 << 20;
    const OF_DEVICE: Properties = Properties([1; 32]);
    const READ_WRITE: Access = Access([3; 12]);
    const READ_ONLY: Access = Access([1; 12]);
    const OF_CONTEXT: Context = Context(1);

    /// A driver that refuses what the real one refuses.
    #[derive(Default)]
    struct Device {
        context: RefCell<Context>,
        next: RefCell<u64>,
        reserved: RefCell<BTreeMap<u64, u64>>,
        created: RefCell<BTreeMap<u64, u64>>,
        mapped: RefCell<BTreeMap<u64, (u64, u64)>>,
        calls: RefCell<Vec<&'static str>>,
        room: Option<u64>,
    }

    impl Default for Context {
        fn default() -> Self {
            OF_CONTEXT
        }
    }

    impl Device {
        fn new_number(&self) -> u64 {
            *self.next.borrow_mut() += 1 << 30;
            *self.next.borrow()
        }

        fn note(&self, call: &'static str) {
            self.calls.borrow_mut().push(call);
        }

        /// What was called since this was asked last.
        fn calls(&self) -> Vec<&'static str> {
            std::mem::take(&mut *self.calls.borrow_mut())
        }

        fn holds(&self) -> [usize; 3] {
            [self.reserved.borrow().len(), self.created.borrow().len(), self.mapped.borrow().len()]
        }
    }

    impl Driver for Device {
        fn context(&self) -> Result<Context, CudaError> {
            Ok(*self.context.borrow())
        }

        fn synchronize(&self) -> Result<(), CudaError> {
            self.note("synchronize");
            Ok(())
        }

        fn clear(&self, range: Range) -> Result<(), CudaError> {
            self.note("clear");
            let mapped = self.mapped.borrow();
            let is_mapped = mapped.get(&range.address.0).is_some_and(|(bytes, _)| *bytes == range.bytes);
            is_mapped.then_some(()).ok_or(INVALID_VALUE)
        }

        fn reserve(&self, bytes: u64, _: u64) -> Result<Address, CudaError> {
            self.note("reserve");
            let address = self.new_number();
            self.reserved.borrow_mut().insert(address, bytes);
            Ok(Address(address))
        }

        fn create(&self, bytes: u64, _: &Properties) -> Result<Handle, CudaError> {
            self.note("create");
            let held: u64 = self.created.borrow().values().sum();
            if self.room.is_some_and(|room| held + bytes > room) {
                return Err(CudaError(2));
            }
            let handle = self.new_number();
            self.created.borrow_mut().insert(handle, bytes);
            Ok(Handle(handle))
        }

        fn map(&self, mapping: &Mapping) -> Result<(), CudaError> {
            self.note("map");
            let Mapping { range, handle, .. } = mapping;
            let taken = self
                .mapped
                .borrow()
                .iter()
                .any(|(address, (bytes, _))| range.meets(Address(*address), *bytes));
            if taken || !self.created.borrow().contains_key(&handle.0) {
                return Err(INVALID_VALUE);
            }
            self.mapped.borrow_mut().insert(range.address.0, (range.bytes, handle.0));
            Ok(())
        }

        fn set_access(&self, range: Range, _: &[Access]) -> Result<(), CudaError> {
            self.note("set_access");
            let is_mapped = self.mapped.borrow().contains_key(&range.address.0);
            is_mapped.then_some(()).ok_or(INVALID_VALUE)
        }

        fn unmap(&self, range: Range) -> Result<(), CudaError> {
            self.note("unmap");
            self.mapped.borrow_mut().remove(&range.address.0).map(drop).ok_or(INVALID_VALUE)
        }

        fn release(&self, handle: Handle) -> Result<(), CudaError> {
            self.note("release");
            self.created.borrow_mut().remove(&handle.0).map(drop).ok_or(INVALID_VALUE)
        }

        fn free(&self, range: Range) -> Result<(), CudaError> {
            self.note("free");
            if self.mapped.borrow().contains_key(&range.address.0) {
                return Err(INVALID_VALUE);
            }
            self.reserved.borrow_mut().remove(&range.address.0).map(drop).ok_or(INVALID_VALUE)
        }
    }

    const fn whole(range: Range, handle: Handle) -> Mapping {
        Mapping { range, offset: 0, handle, flags: 0 }
    }

    /// Reserves, creates, maps and gives access.
    fn take(ranges: &Ranges, device: &Device, bytes: u64) -> (Range, Handle) {
        let range = Range { address: ranges.reserve(bytes, 0, device).unwrap(), bytes };
        let handle = ranges.create(bytes, &OF_DEVICE, device).unwrap();
        ranges.map(&whole(range, handle), device).unwrap();
        ranges.set_access(range, &[READ_WRITE], device).unwrap();
        (range, handle)
    }

    fn leave(ranges: &Ranges, device: &Device, (range, handle): (Range, Handle)) {
        ranges.unmap(range, device).unwrap();
        ranges.release(handle, device).unwrap();
        ranges.free(range, device).unwrap();
    }

    #[test]
    fn what_was_left_is_taken_again_zero_and_without_the_driver() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let first = take(&ranges, &device, 2 * MEBIBYTE);
        assert_eq!(device.calls(), ["reserve", "create", "map", "set_access"]);
        leave(&ranges, &device, first);
        assert_eq!(device.calls(), ["synchronize"]);
        assert_eq!(take(&ranges, &device, 2 * MEBIBYTE), first);
        assert_eq!(device.calls(), ["clear", "synchronize"]);
        assert_eq!(ranges.tally(), Tally { asked: 2, answered_by_driver: 1 });
        let second = take(&ranges, &device, 2 * MEBIBYTE);
        assert_ne!(second, first, "that is in use");
        assert_ne!(take(&ranges, &device, 4 * MEBIBYTE).0.address, first.0.address);
    }

    #[test]
    fn either_half_may_be_asked_for_first() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let pair = [take(&ranges, &device, MEBIBYTE), take(&ranges, &device, MEBIBYTE)];
        for taken in pair {
            leave(&ranges, &device, taken);
        }
        device.calls();
        for _ in 0..2 {
            let handle = ranges.create(MEBIBYTE, &OF_DEVICE, &device).unwrap();
            let range = Range { address: ranges.reserve(MEBIBYTE, 0, &device).unwrap(), bytes: MEBIBYTE };
            ranges.map(&whole(range, handle), &device).unwrap();
            assert!(pair.contains(&(range, handle)));
        }
        assert_eq!(device.calls(), ["clear", "synchronize", "clear", "synchronize"]);
    }

    #[test]
    fn other_sizes_alignments_and_properties_are_the_drivers() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let taken = take(&ranges, &device, MEBIBYTE);
        leave(&ranges, &device, taken);
        assert_ne!(ranges.reserve(MEBIBYTE, 4096, &device), Ok(taken.0.address));
        assert_ne!(ranges.reserve(2 * MEBIBYTE, 0, &device), Ok(taken.0.address));
        assert_ne!(ranges.create(MEBIBYTE, &Properties([2; 32]), &device), Ok(taken.1));
        assert_ne!(ranges.create(2 * MEBIBYTE, &OF_DEVICE, &device), Ok(taken.1));
    }

    #[test]
    fn halves_that_are_joined_otherwise_are_parted_first() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let (range, handle) = take(&ranges, &device, MEBIBYTE);
        leave(&ranges, &device, (range, handle));
        let other = ranges.create(MEBIBYTE, &Properties([2; 32]), &device).unwrap();
        assert_eq!(ranges.reserve(MEBIBYTE, 0, &device), Ok(range.address));
        device.calls();
        ranges.map(&whole(range, other), &device).unwrap();
        assert_eq!(device.calls(), ["unmap", "release", "map"]);
        ranges.set_access(range, &[READ_WRITE], &device).unwrap();
        leave(&ranges, &device, (range, other));
        assert_eq!(ranges.reserve(MEBIBYTE, 0, &device), Ok(range.address));
        assert_eq!(device.holds(), [1, 1, 1]);
    }

    #[test]
    fn memory_that_is_mapped_elsewhere_leaves_its_old_addresses() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let (range, handle) = take(&ranges, &device, MEBIBYTE);
        ranges.unmap(range, &device).unwrap();
        let other = Range { address: ranges.reserve(2 * MEBIBYTE, 0, &device).unwrap(), bytes: 2 * MEBIBYTE };
        let half = Range { bytes: MEBIBYTE, ..other };
        device.calls();
        ranges.map(&whole(half, handle), &device).unwrap();
        assert_eq!(device.calls(), ["unmap", "map"]);
        ranges.set_access(half, &[READ_WRITE], &device).unwrap();
        ranges.unmap(half, &device).unwrap();
        ranges.release(handle, &device).unwrap();
        ranges.free(other, &device).unwrap();
        ranges.free(range, &device).unwrap();
        assert_eq!(device.holds(), [0, 0, 0], "a part of a range is not kept");
    }

    #[test]
    fn what_has_other_accesses_is_not_kept() {
        let (ranges, device) = (Ranges::new(), Device::default());
        for accesses in [&[READ_ONLY][..], &[READ_ONLY, READ_WRITE]] {
            let taken = take(&ranges, &device, MEBIBYTE);
            ranges.set_access(taken.0, accesses, &device).unwrap();
            leave(&ranges, &device, taken);
            assert_eq!(device.holds(), [0, 0, 0]);
        }
    }

    #[test]
    fn memory_that_is_released_while_it_is_mapped_is_the_drivers() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let (range, handle) = take(&ranges, &device, MEBIBYTE);
        ranges.release(handle, &device).unwrap();
        ranges.unmap(range, &device).unwrap();
        ranges.free(range, &device).unwrap();
        assert_eq!(device.holds(), [0, 0, 0]);
    }

    #[test]
    fn what_is_given_back_twice_is_refused() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let (range, handle) = take(&ranges, &device, MEBIBYTE);
        ranges.unmap(range, &device).unwrap();
        assert_eq!(ranges.unmap(range, &device), Err(INVALID_VALUE));
        ranges.release(handle, &device).unwrap();
        assert_eq!(ranges.release(handle, &device), Err(INVALID_VALUE));
        ranges.free(range, &device).unwrap();
        assert_eq!(ranges.free(range, &device), Err(INVALID_VALUE));
        assert_eq!(ranges.free(Range { address: Address(7), bytes: 1 }, &device), Err(INVALID_VALUE));
        assert_eq!(take(&ranges, &device, MEBIBYTE), (range, handle));
    }

    #[test]
    fn no_more_is_kept_than_so_much_and_where_there_is_too_little_the_driver_gets_it() {
        let (ranges, device) = (Ranges::new(), Device { room: Some(2 * MOST_IDLE), ..Device::default() });
        let taken: Vec<_> = (0..4).map(|_| take(&ranges, &device, MOST_IDLE / 2)).collect();
        for taken in taken {
            leave(&ranges, &device, taken);
        }
        assert_eq!(device.holds(), [2, 2, 2]);
        take(&ranges, &device, 2 * MOST_IDLE);
        assert_eq!(device.holds(), [1, 1, 1]);
    }

    #[test]
    fn contexts_have_their_own() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let taken = take(&ranges, &device, MEBIBYTE);
        device.context.replace(Context(2));
        leave(&ranges, &device, taken);
        assert_eq!(device.holds(), [0, 0, 0], "another context's work says nothing of it");
        let taken = take(&ranges, &device, MEBIBYTE);
        leave(&ranges, &device, taken);
        device.context.replace(OF_CONTEXT);
        device.calls();
        take(&ranges, &device, MEBIBYTE);
        assert_eq!(device.calls(), ["unmap", "map", "set_access"]);
    }
}
