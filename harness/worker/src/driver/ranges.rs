use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::{
    CudaError,
    memory::{Address, Context, INVALID_VALUE, MOST_IDLE, Tally},
};

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
    /// Has zeros written, and waits until they are.
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
/// again. Unmapping waits for the context. Memory that is released is zero before anybody gets it; what is only unmapped holds
/// what it held. Whatever is done in another way, a part of a mapping, two mappings of one handle, accesses other than
/// reading and writing on the memory's own device, memory that is exported, is the driver's, which is given first what stood
/// against it.
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
        let mut state = self.state();
        let idle = state.idle_handle(bytes, properties);
        let handle = idle.map_or_else(|| driver.create(bytes, properties), Ok)?;
        if idle.is_none() {
            self.answered_by_driver.fetch_add(1, Relaxed);
            state.handles.insert(handle, Created { bytes, properties: *properties, is_lent: true });
        }
        self.asked.fetch_add(1, Relaxed);
        Ok(handle)
    }

    pub fn map(&self, mapping: &Mapping, driver: &impl Driver) -> Result<(), CudaError> {
        let mut state = self.state();
        let context = driver.context().ok().filter(|context| context.0 != 0);
        if state.maps_again(mapping, context) {
            return Ok(());
        }
        let Mapping { range, handle, .. } = *mapping;
        state.part(|address, bond| bond.handle == handle || range.meets(address, bond.bytes), driver);
        driver.map(mapping)?;
        match context {
            Some(context) if state.is_simple(mapping) => {
                let bond = Bond { handle, bytes: range.bytes, context, access: None, is_mapped: true };
                state.bonds.insert(range.address, bond);
            }
            _ => state.forget_handle(handle),
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
        if state.meets_unmapped(range) {
            return Err(INVALID_VALUE);
        }
        let simple = match accesses {
            [access] => state.simple_access(range, *access),
            _ => None,
        };
        let known = state.bonds.get(&range.address).and_then(|bond| bond.access);
        if simple.is_some() && known == simple {
            return Ok(());
        }
        if simple.is_none() {
            state.forget_bonds(range);
        }
        driver.set_access(range, accesses)?;
        if let Some(bond) = state.bonds.get_mut(&range.address) {
            bond.access = simple;
        }
        Ok(())
    }

    /// Leaves it mapped for when it is mapped again, or else has the driver unmap it.
    pub fn unmap(&self, range: Range, driver: &impl Driver) -> Result<(), CudaError> {
        let bond = self.state().mapped(range);
        // whoever is waited for may need what this lock guards
        let is_done = bond.is_some_and(|bond| {
            bond.access.is_some() && driver.context() == Ok(bond.context) && driver.synchronize().is_ok()
        });
        let mut state = self.state();
        if state.meets_unmapped(range) {
            return Err(INVALID_VALUE);
        }
        if is_done && !state.has_room(range.bytes) {
            state.give_back(driver);
        }
        let has_room = state.has_room(range.bytes);
        if let Some(bond) = state.bonds.get_mut(&range.address).filter(|_| is_done && has_room) {
            bond.is_mapped = false;
            return Ok(());
        }
        state.forget_bonds(range);
        driver.unmap(range)
    }

    /// Keeps memory whose mapping is kept, zero from now on, or else has the driver release it.
    pub fn release(&self, handle: Handle, driver: &impl Driver) -> Result<(), CudaError> {
        let bond = {
            let state = self.state();
            if state.handles.get(&handle).is_some_and(|created| !created.is_lent) {
                return Err(INVALID_VALUE);
            }
            state.unmapped(handle)
        };
        let is_zero = bond
            .is_some_and(|(range, bond)| driver.context() == Ok(bond.context) && driver.clear(range).is_ok());
        let mut state = self.state();
        if is_zero && let Some(created) = state.handles.get_mut(&handle) {
            created.is_lent = false;
            return Ok(());
        }
        state.part(|_, bond| bond.handle == handle, driver);
        // memory that is mapped lasts until it is unmapped, which the driver is to see
        state.forget_handle(handle);
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

    /// Leaves memory to the driver of which a library has got another handle.
    pub fn leave(&self, handle: Handle) {
        self.state().forget_handle(handle);
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

    /// Whether the driver has mapped just this, which is the library's again.
    fn maps_again(&mut self, mapping: &Mapping, context: Option<Context>) -> bool {
        let are_whole = self.are_whole(mapping);
        let Some(bond) = self.bonds.get_mut(&mapping.range.address) else { return false };
        let is_it =
            are_whole && bond.handle == mapping.handle && !bond.is_mapped && Some(bond.context) == context;
        bond.is_mapped |= is_it;
        is_it
    }

    /// Whether all of a handle that is mapped nowhere else and exported to nobody is mapped at all of a range.
    fn is_simple(&self, mapping: &Mapping) -> bool {
        let handle = mapping.handle;
        let is_exported = self.handles.get(&handle).is_some_and(|created| created.properties.is_exported());
        self.are_whole(mapping) && !is_exported && self.bonds.values().all(|bond| bond.handle != handle)
    }

    /// Whether all of a handle is mapped at all of a range, both lent by us.
    fn are_whole(&self, mapping: &Mapping) -> bool {
        let Mapping { range, offset, handle, flags } = *mapping;
        let reserved = self.ranges.get(&range.address);
        let created = self.handles.get(&handle);
        (offset, flags) == (0, 0)
            && reserved.is_some_and(|reserved| reserved.is_lent && reserved.bytes == range.bytes)
            && created.is_some_and(|created| created.is_lent && created.bytes == range.bytes)
    }

    /// An access as it is kept: of all that is mapped, to read and write on the memory's own device.
    fn simple_access(&self, range: Range, access: Access) -> Option<Access> {
        let bond = self.mapped(range).filter(|bond| bond.access.is_none_or(|known| known == access))?;
        let created = self.handles.get(&bond.handle)?;
        access.reads_and_writes_on(&created.properties).then_some(access)
    }

    /// What is mapped for the library, all of it.
    fn mapped(&self, range: Range) -> Option<Bond> {
        let bond = self.bonds.get(&range.address)?;
        (bond.is_mapped && bond.bytes == range.bytes).then_some(*bond)
    }

    /// What nobody has mapped of a handle, and where it is.
    fn unmapped(&self, handle: Handle) -> Option<(Range, Bond)> {
        let found = self.bonds.iter().find(|(_, bond)| bond.handle == handle && !bond.is_mapped);
        found.map(|(address, bond)| (Range { address: *address, bytes: bond.bytes }, *bond))
    }

    /// Whether some of a range is unmapped, as far as the library knows.
    fn meets_unmapped(&self, range: Range) -> bool {
        self.bonds.iter().any(|(address, bond)| !bond.is_mapped && range.meets(*address, bond.bytes))
    }

    /// Has the driver unmap those that `is_concerned` says and nobody has mapped; what nobody has at all it gets back.
    fn part(&mut self, is_concerned: impl Fn(Address, &Bond) -> bool, driver: &impl Driver) {
        let concerned = |(address, bond): (&Address, &Bond)| {
            (!bond.is_mapped && is_concerned(*address, bond)).then_some((*address, *bond))
        };
        let bonds: Vec<_> = self.bonds.iter().filter_map(concerned).collect();
        for (address, Bond { handle, bytes, .. }) in bonds {
            let range = Range { address, bytes };
            if driver.unmap(range).is_err() {
                continue;
            }
            self.bonds.remove(&address);
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

    /// Gives the driver the memory that the library has not, wherever it is mapped.
    fn give_back(&mut self, driver: &impl Driver) {
        let is_idle = |bond: &Bond| self.handles.get(&bond.handle).is_some_and(|created| !created.is_lent);
        let idle: Vec<_> = self.bonds.iter().filter(|(_, bond)| is_idle(bond)).map(|(at, _)| *at).collect();
        self.part(|address, _| idle.contains(&address), driver);
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.idle_bytes() + bytes <= MOST_IDLE
    }

    fn idle_bytes(&self) -> u64 {
        self.bonds.values().filter(|bond| !bond.is_mapped).map(|bond| bond.bytes).sum()
    }

    /// Drops what is known of an address.
    fn forget(&mut self, address: Address) {
        self.bonds.remove(&address);
        self.ranges.remove(&address);
    }

    /// Leaves a handle and what is mapped of it to the driver.
    fn forget_handle(&mut self, handle: Handle) {
        self.handles.remove(&handle);
        self.bonds.retain(|_, bond| bond.handle != handle);
    }

    /// Leaves what is mapped in a range to the driver.
    fn forget_bonds(&mut self, range: Range) {
        self.bonds.retain(|address, bond| !bond.is_mapped || !range.meets(*address, bond.bytes));
    }
}

impl Properties {
    /// `CUmemAllocationProp::location`, a type and a number.
    fn location(&self) -> &[u8] {
        &self.0[8..16]
    }

    /// Whether other processes can get it: `requestedHandleTypes` is not `CU_MEM_HANDLE_TYPE_NONE`.
    fn is_exported(&self) -> bool {
        self.0[4..8] != [0; 4]
    }
}

impl Access {
    /// Whether it is `CU_MEM_ACCESS_FLAGS_PROT_READWRITE` for the device where the memory is.
    fn reads_and_writes_on(&self, properties: &Properties) -> bool {
        let (location, flags) = self.0.split_at(8);
        location == properties.location() && flags == 3_u32.to_le_bytes()
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
    use std::cell::{Cell, RefCell};

    use proptest::prelude::*;

    use super::*;
    use crate::driver::memory::OUT_OF_MEMORY;

    const MEBIBYTE: u64 = 1 << 20;
    const OF_CONTEXT: Context = Context(1);
    const ILLEGAL_ADDRESS: CudaError = CudaError(700);

    const fn words<const WORDS: usize, const BYTES: usize>(words: [u32; WORDS]) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let mut at = 0;
        while at < BYTES {
            bytes[at] = words[at / 4].to_le_bytes()[at % 4];
            at += 1;
        }
        bytes
    }

    const OF_DEVICE: Properties = Properties(words([1, 0, 1, 0, 0, 0, 0, 0]));
    const COMPRESSED: Properties = Properties(words([1, 0, 1, 0, 0, 0, 1, 0]));
    const EXPORTED: Properties = Properties(words([1, 1, 1, 0, 0, 0, 0, 0]));
    const READ_WRITE: Access = Access(words([1, 0, 3]));
    const READ_ONLY: Access = Access(words([1, 0, 1]));
    const ON_ANOTHER_DEVICE: Access = Access(words([1, 1, 3]));

    /// A driver that refuses what the real one refuses, with a byte in all of a handle's memory.
    struct Device {
        context: Cell<Context>,
        next: Cell<u64>,
        /// Bytes by address.
        reserved: RefCell<BTreeMap<u64, u64>>,
        created: RefCell<BTreeMap<u64, Memory>>,
        /// Bytes and handles by address.
        mapped: RefCell<BTreeMap<u64, (u64, u64)>>,
        calls: RefCell<Vec<&'static str>>,
        room: u64,
        is_lost: Cell<bool>,
    }

    #[derive(Clone, Copy)]
    struct Memory {
        bytes: u64,
        byte: u8,
        is_held: bool,
    }

    impl Default for Device {
        fn default() -> Self {
            Self {
                context: Cell::new(OF_CONTEXT),
                next: Cell::new(0),
                reserved: RefCell::default(),
                created: RefCell::default(),
                mapped: RefCell::default(),
                calls: RefCell::default(),
                room: u64::MAX,
                is_lost: Cell::new(false),
            }
        }
    }

    impl Device {
        fn new_number(&self) -> u64 {
            self.next.set(self.next.get() + (1 << 32));
            self.next.get()
        }

        fn note(&self, call: &'static str) -> Result<(), CudaError> {
            self.calls.borrow_mut().push(call);
            if self.is_lost.get() { Err(ILLEGAL_ADDRESS) } else { Ok(()) }
        }

        /// What was called since this was asked last.
        fn calls(&self) -> Vec<&'static str> {
            self.calls.take()
        }

        /// Ranges, memories and mappings.
        fn holds(&self) -> [usize; 3] {
            [self.reserved.borrow().len(), self.created.borrow().len(), self.mapped.borrow().len()]
        }

        fn byte(&self, range: Range) -> Option<u8> {
            let (_, handle) = *self.mapped.borrow().get(&range.address.0)?;
            Some(self.created.borrow().get(&handle)?.byte)
        }

        fn write(&self, range: Range, byte: u8) {
            let handle = self.mapped.borrow().get(&range.address.0).map(|(_, handle)| *handle);
            if let Some(memory) = handle.and_then(|handle| {
                self.created.borrow_mut().get_mut(&handle).map(|memory| {
                    memory.byte = byte;
                    *memory
                })
            }) {
                assert!(memory.bytes >= range.bytes);
            }
        }

        fn is_mapped(&self, range: Range) -> bool {
            self.mapped.borrow().iter().any(|(address, (bytes, _))| range.meets(Address(*address), *bytes))
        }

        /// Memory lasts as long as somebody holds its handle or it is mapped.
        fn drop_unused(&self) {
            let mapped = self.mapped.borrow();
            let is_used = |handle: &u64| mapped.values().any(|(_, of)| of == handle);
            self.created.borrow_mut().retain(|handle, memory| memory.is_held || is_used(handle));
        }
    }

    impl Driver for Device {
        fn context(&self) -> Result<Context, CudaError> {
            Ok(self.context.get())
        }

        fn synchronize(&self) -> Result<(), CudaError> {
            self.note("synchronize")
        }

        fn clear(&self, range: Range) -> Result<(), CudaError> {
            self.note("clear")?;
            assert!(self.mapped.borrow().contains_key(&range.address.0), "what is cleared is mapped");
            self.write(range, 0);
            Ok(())
        }

        fn reserve(&self, bytes: u64, _: u64) -> Result<Address, CudaError> {
            self.note("reserve")?;
            let address = self.new_number();
            self.reserved.borrow_mut().insert(address, bytes);
            Ok(Address(address))
        }

        fn create(&self, bytes: u64, _: &Properties) -> Result<Handle, CudaError> {
            self.note("create")?;
            let held: u64 = self.created.borrow().values().map(|memory| memory.bytes).sum();
            if held + bytes > self.room {
                return Err(OUT_OF_MEMORY);
            }
            let handle = self.new_number();
            self.created.borrow_mut().insert(handle, Memory { bytes, byte: 0, is_held: true });
            Ok(Handle(handle))
        }

        fn map(&self, mapping: &Mapping) -> Result<(), CudaError> {
            self.note("map")?;
            let Mapping { range, handle, .. } = mapping;
            let is_reserved =
                self.reserved.borrow().get(&range.address.0).is_some_and(|bytes| *bytes >= range.bytes);
            let fits = self
                .created
                .borrow()
                .get(&handle.0)
                .is_some_and(|memory| memory.is_held && memory.bytes == range.bytes);
            if !is_reserved || !fits || self.is_mapped(*range) {
                return Err(INVALID_VALUE);
            }
            self.mapped.borrow_mut().insert(range.address.0, (range.bytes, handle.0));
            Ok(())
        }

        fn set_access(&self, range: Range, _: &[Access]) -> Result<(), CudaError> {
            self.note("set_access")?;
            self.is_mapped(range).then_some(()).ok_or(INVALID_VALUE)
        }

        fn unmap(&self, range: Range) -> Result<(), CudaError> {
            self.note("unmap")?;
            let found = self.mapped.borrow().get(&range.address.0).copied();
            found.filter(|(bytes, _)| *bytes == range.bytes).ok_or(INVALID_VALUE)?;
            self.mapped.borrow_mut().remove(&range.address.0);
            self.drop_unused();
            Ok(())
        }

        fn release(&self, handle: Handle) -> Result<(), CudaError> {
            self.note("release")?;
            match self.created.borrow_mut().get_mut(&handle.0) {
                Some(memory) if memory.is_held => memory.is_held = false,
                _ => return Err(INVALID_VALUE),
            }
            self.drop_unused();
            Ok(())
        }

        fn free(&self, range: Range) -> Result<(), CudaError> {
            self.note("free")?;
            let is_it = self.reserved.borrow().get(&range.address.0) == Some(&range.bytes);
            if !is_it || self.is_mapped(range) {
                return Err(INVALID_VALUE);
            }
            self.reserved.borrow_mut().remove(&range.address.0);
            Ok(())
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
        device.write(first.0, 7);
        leave(&ranges, &device, first);
        assert_eq!(device.calls(), ["synchronize", "clear"]);
        assert_eq!(take(&ranges, &device, 2 * MEBIBYTE), first);
        assert!(device.calls().is_empty());
        assert_eq!(device.byte(first.0), Some(0));
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
        assert!(device.calls().is_empty());
    }

    #[test]
    fn other_sizes_alignments_and_properties_are_the_drivers() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let taken = take(&ranges, &device, MEBIBYTE);
        leave(&ranges, &device, taken);
        assert_ne!(ranges.reserve(MEBIBYTE, 4096, &device), Ok(taken.0.address));
        assert_ne!(ranges.reserve(2 * MEBIBYTE, 0, &device), Ok(taken.0.address));
        assert_ne!(ranges.create(MEBIBYTE, &COMPRESSED, &device), Ok(taken.1));
        assert_ne!(ranges.create(2 * MEBIBYTE, &OF_DEVICE, &device), Ok(taken.1));
    }

    #[test]
    fn memory_that_is_held_holds_what_it_held() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let (range, handle) = take(&ranges, &device, MEBIBYTE);
        device.write(range, 7);
        ranges.unmap(range, &device).unwrap();
        ranges.map(&whole(range, handle), &device).unwrap();
        assert_eq!(device.byte(range), Some(7));
    }

    #[test]
    fn halves_that_are_joined_otherwise_are_parted_first() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let (range, handle) = take(&ranges, &device, MEBIBYTE);
        leave(&ranges, &device, (range, handle));
        let other = ranges.create(MEBIBYTE, &COMPRESSED, &device).unwrap();
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
    fn memory_that_is_taken_to_other_addresses_is_zero() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let taken = take(&ranges, &device, MEBIBYTE);
        device.write(taken.0, 7);
        leave(&ranges, &device, taken);
        let handle = ranges.create(MEBIBYTE, &OF_DEVICE, &device).unwrap();
        assert_eq!(handle, taken.1);
        let bytes = 2 * MEBIBYTE;
        let large = Range { address: ranges.reserve(bytes, 0, &device).unwrap(), bytes };
        let half = Range { bytes: MEBIBYTE, ..large };
        device.calls();
        ranges.map(&whole(half, handle), &device).unwrap();
        assert_eq!(device.calls(), ["unmap", "free", "map"]);
        assert_eq!(device.byte(half), Some(0));
        ranges.set_access(half, &[READ_WRITE], &device).unwrap();
        leave_part(&ranges, &device, (half, large), handle);
        assert_eq!(device.holds(), [0, 0, 0], "a part of a range is not kept");
    }

    fn leave_part(ranges: &Ranges, device: &Device, (part, range): (Range, Range), handle: Handle) {
        ranges.unmap(part, device).unwrap();
        ranges.release(handle, device).unwrap();
        ranges.free(range, device).unwrap();
    }

    #[test]
    fn memory_with_two_mappings_or_two_handles_is_the_drivers() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let (range, handle) = take(&ranges, &device, MEBIBYTE);
        let other = Range { address: ranges.reserve(MEBIBYTE, 0, &device).unwrap(), bytes: MEBIBYTE };
        ranges.map(&whole(other, handle), &device).unwrap();
        ranges.set_access(other, &[READ_WRITE], &device).unwrap();
        leave(&ranges, &device, (range, handle));
        assert_ne!(ranges.create(MEBIBYTE, &OF_DEVICE, &device), Ok(handle), "it is mapped still");
        let retained = take(&ranges, &device, MEBIBYTE);
        ranges.leave(retained.1);
        let before = device.holds();
        leave(&ranges, &device, retained);
        assert_eq!(device.holds(), before.map(|held| held - 1));
    }

    #[test]
    fn what_has_other_accesses_or_is_exported_is_not_kept() {
        let (ranges, device) = (Ranges::new(), Device::default());
        for accesses in [&[READ_ONLY][..], &[ON_ANOTHER_DEVICE], &[READ_WRITE, READ_WRITE]] {
            let taken = take(&ranges, &device, MEBIBYTE);
            ranges.set_access(taken.0, accesses, &device).unwrap();
            leave(&ranges, &device, taken);
            assert_eq!(device.holds(), [0, 0, 0]);
        }
        let taken = take(&ranges, &device, 2 * MEBIBYTE);
        let second_half = Range { address: Address(taken.0.address.0 + MEBIBYTE), bytes: MEBIBYTE };
        ranges.set_access(second_half, &[READ_ONLY], &device).unwrap();
        leave(&ranges, &device, taken);
        assert_eq!(device.holds(), [0, 0, 0]);
        for (access, properties) in [(READ_ONLY, OF_DEVICE), (READ_WRITE, EXPORTED)] {
            let range = Range { address: ranges.reserve(MEBIBYTE, 0, &device).unwrap(), bytes: MEBIBYTE };
            let handle = ranges.create(MEBIBYTE, &properties, &device).unwrap();
            ranges.map(&whole(range, handle), &device).unwrap();
            ranges.set_access(range, &[access], &device).unwrap();
            leave(&ranges, &device, (range, handle));
            assert_eq!(device.holds(), [0, 0, 0]);
        }
    }

    #[test]
    fn a_context_that_is_lost_says_so_and_nothing_of_it_is_kept() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let (range, handle) = take(&ranges, &device, MEBIBYTE);
        device.is_lost.set(true);
        assert_eq!(ranges.unmap(range, &device), Err(ILLEGAL_ADDRESS));
        assert_eq!(ranges.release(handle, &device), Err(ILLEGAL_ADDRESS));
        assert_eq!(ranges.free(range, &device), Err(ILLEGAL_ADDRESS));
        device.is_lost.set(false);
        assert_ne!(ranges.reserve(MEBIBYTE, 0, &device), Ok(range.address));
        assert_ne!(ranges.create(MEBIBYTE, &OF_DEVICE, &device), Ok(handle));
    }

    #[test]
    fn no_more_is_kept_than_so_much_and_the_driver_gets_it_when_asked() {
        let (ranges, device) = (Ranges::new(), Device { room: 2 * MOST_IDLE, ..Device::default() });
        let taken: Vec<_> = (0..3).map(|_| take(&ranges, &device, MOST_IDLE / 2)).collect();
        for taken in taken {
            leave(&ranges, &device, taken);
        }
        assert_eq!(device.holds(), [1, 1, 1], "the last takes the place of the others");
        let held =
            Range { address: ranges.reserve(MOST_IDLE / 2, 0, &device).unwrap(), bytes: MOST_IDLE / 2 };
        assert_eq!(ranges.create(2 * MOST_IDLE, &OF_DEVICE, &device), Err(OUT_OF_MEMORY));
        ranges.give_back(&device);
        assert_eq!(device.holds(), [1, 0, 0], "the addresses are the library's");
        assert!(ranges.create(2 * MOST_IDLE, &OF_DEVICE, &device).is_ok());
        ranges.free(held, &device).unwrap();
    }

    #[test]
    fn contexts_have_their_own() {
        let (ranges, device) = (Ranges::new(), Device::default());
        let taken = take(&ranges, &device, MEBIBYTE);
        device.context.set(Context(2));
        leave(&ranges, &device, taken);
        assert_eq!(device.holds(), [0, 0, 0], "another context's work says nothing of it");
        let taken = take(&ranges, &device, MEBIBYTE);
        leave(&ranges, &device, taken);
        device.context.set(OF_CONTEXT);
        device.calls();
        take(&ranges, &device, MEBIBYTE);
        assert_eq!(device.calls(), ["unmap", "map", "set_access"]);
    }

    /// A call of a library that has up to three ranges and three handles.
    #[derive(Clone, Copy, Debug)]
    enum Call {
        Reserve(usize, u64),
        Create(usize, u64),
        Map { range: usize, handle: usize, is_half: bool },
        SetAccess(usize, Access),
        Write(usize, u8),
        Unmap { range: usize, is_half: bool },
        Release(usize),
        Free(usize),
        Switch(usize),
    }

    fn call() -> impl Strategy<Value = Call> {
        let place = || 0..3_usize;
        let size = || prop_oneof![4 => Just(2 * MEBIBYTE), 1 => Just(MEBIBYTE)];
        let is_half = || prop::bool::weighted(0.15);
        prop_oneof![
            3 => (place(), size()).prop_map(|(range, bytes)| Call::Reserve(range, bytes)),
            3 => (place(), size()).prop_map(|(handle, bytes)| Call::Create(handle, bytes)),
            6 => (place(), place(), is_half())
                .prop_map(|(range, handle, is_half)| Call::Map { range, handle, is_half }),
            4 => (place(), prop_oneof![5 => Just(READ_WRITE), 1 => Just(READ_ONLY)])
                .prop_map(|(range, access)| Call::SetAccess(range, access)),
            3 => (place(), 1..9_u8).prop_map(|(range, byte)| Call::Write(range, byte)),
            4 => (place(), is_half()).prop_map(|(range, is_half)| Call::Unmap { range, is_half }),
            3 => place().prop_map(Call::Release),
            3 => place().prop_map(Call::Free),
            1 => (1..3_usize).prop_map(Call::Switch),
        ]
    }

    /// What a library has of a driver, as it knows it.
    #[derive(Default)]
    struct Library {
        ranges: [Option<Range>; 3],
        handles: [Option<Handle>; 3],
        /// What it has mapped, by the place of the range.
        mapped: [Option<Range>; 3],
    }

    impl Library {
        /// Makes the call where the library has what it takes; whether that succeeded.
        fn call(&mut self, call: Call, device: &Device, through: &impl Through) -> Option<bool> {
            let part =
                |range: Range, is_half: bool| Range { bytes: range.bytes >> u32::from(is_half), ..range };
            Some(match call {
                Call::Reserve(place, bytes) => {
                    if self.ranges[place].is_some() {
                        return None;
                    }
                    let address = through.reserve(bytes, device).ok()?;
                    self.ranges[place] = Some(Range { address, bytes });
                    true
                }
                Call::Create(place, bytes) => {
                    if self.handles[place].is_some() {
                        return None;
                    }
                    self.handles[place] = Some(through.create(bytes, device).ok()?);
                    true
                }
                Call::Map { range: place, handle, is_half } => {
                    let range = part(self.ranges[place]?, is_half);
                    let is_done = through.map(&whole(range, self.handles[handle]?), device).is_ok();
                    if is_done {
                        self.mapped[place] = Some(range);
                    }
                    is_done
                }
                Call::SetAccess(place, access) => {
                    through.set_access(self.ranges[place]?, access, device).is_ok()
                }
                Call::Write(place, byte) => {
                    device.write(self.mapped[place]?, byte);
                    true
                }
                Call::Unmap { range: place, is_half } => {
                    let is_done = through.unmap(part(self.ranges[place]?, is_half), device).is_ok();
                    if is_done {
                        self.mapped[place] = None;
                    }
                    is_done
                }
                Call::Release(place) => {
                    let is_done = through.release(self.handles[place]?, device).is_ok();
                    self.handles[place] = None;
                    is_done
                }
                Call::Free(place) => {
                    let is_done = through.free(self.ranges[place]?, device).is_ok();
                    if is_done {
                        self.ranges[place] = None;
                    }
                    is_done
                }
                Call::Switch(context) => {
                    device.context.set(Context(context));
                    true
                }
            })
        }

        /// What it reads where it has something mapped.
        fn reads(&self, device: &Device) -> [Option<u8>; 3] {
            self.mapped.map(|range| range.and_then(|range| device.byte(range)))
        }
    }

    /// How a library reaches the driver.
    trait Through {
        fn reserve(&self, bytes: u64, device: &Device) -> Result<Address, CudaError>;
        fn create(&self, bytes: u64, device: &Device) -> Result<Handle, CudaError>;
        fn map(&self, mapping: &Mapping, device: &Device) -> Result<(), CudaError>;
        fn set_access(&self, range: Range, access: Access, device: &Device) -> Result<(), CudaError>;
        fn unmap(&self, range: Range, device: &Device) -> Result<(), CudaError>;
        fn release(&self, handle: Handle, device: &Device) -> Result<(), CudaError>;
        fn free(&self, range: Range, device: &Device) -> Result<(), CudaError>;
    }

    struct Directly;

    impl Through for Directly {
        fn reserve(&self, bytes: u64, device: &Device) -> Result<Address, CudaError> {
            Driver::reserve(device, bytes, 0)
        }

        fn create(&self, bytes: u64, device: &Device) -> Result<Handle, CudaError> {
            Driver::create(device, bytes, &OF_DEVICE)
        }

        fn map(&self, mapping: &Mapping, device: &Device) -> Result<(), CudaError> {
            Driver::map(device, mapping)
        }

        fn set_access(&self, range: Range, access: Access, device: &Device) -> Result<(), CudaError> {
            Driver::set_access(device, range, &[access])
        }

        fn unmap(&self, range: Range, device: &Device) -> Result<(), CudaError> {
            Driver::unmap(device, range)
        }

        fn release(&self, handle: Handle, device: &Device) -> Result<(), CudaError> {
            Driver::release(device, handle)
        }

        fn free(&self, range: Range, device: &Device) -> Result<(), CudaError> {
            Driver::free(device, range)
        }
    }

    impl Through for Ranges {
        fn reserve(&self, bytes: u64, device: &Device) -> Result<Address, CudaError> {
            self.reserve(bytes, 0, device)
        }

        fn create(&self, bytes: u64, device: &Device) -> Result<Handle, CudaError> {
            self.create(bytes, &OF_DEVICE, device)
        }

        fn map(&self, mapping: &Mapping, device: &Device) -> Result<(), CudaError> {
            self.map(mapping, device)
        }

        fn set_access(&self, range: Range, access: Access, device: &Device) -> Result<(), CudaError> {
            self.set_access(range, &[access], device)
        }

        fn unmap(&self, range: Range, device: &Device) -> Result<(), CudaError> {
            self.unmap(range, device)
        }

        fn release(&self, handle: Handle, device: &Device) -> Result<(), CudaError> {
            self.release(handle, device)
        }

        fn free(&self, range: Range, device: &Device) -> Result<(), CudaError> {
            self.free(range, device)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// A library sees the same with it and without it: what succeeds, and what it reads.
        #[test]
        fn a_library_sees_the_same(calls in prop::collection::vec(call(), 0..60)) {
            let (ranges, with, without) = (Ranges::new(), Device::default(), Device::default());
            let (mut one, mut other) = (Library::default(), Library::default());
            for call in calls {
                let done = one.call(call, &with, &ranges);
                prop_assert_eq!(done, other.call(call, &without, &Directly), "{:?}", call);
                prop_assert_eq!(one.reads(&with), other.reads(&without), "{:?}", call);
            }
        }
    }
}
