use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::{
    CudaError,
    blocks::{Address, Context, INVALID_VALUE, MOST_IDLE, Tally},
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
mod tests;
