use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::driver::{Access, Address, AddressRange, Handle, MapRequest, Properties};

/// Physical memory that no one can have written yet: created, and mapped at most once without access so far.
///
/// Memory that is mapped in parts or twice, and memory that other processes may reach, is left as it is.
pub struct FreshMemory {
    table: Mutex<Table>,
}

struct Table {
    created: BTreeMap<Handle, (u64, Properties)>,
    mapped: BTreeMap<Address, (AddressRange, Handle, Properties)>,
}

/// The fresh memory of this process.
pub static FRESH_MEMORY: FreshMemory = FreshMemory::new();

impl FreshMemory {
    pub const fn new() -> Self {
        Self { table: Mutex::new(Table { created: BTreeMap::new(), mapped: BTreeMap::new() }) }
    }

    /// Records memory that the driver has just created.
    pub fn insert(&self, handle: Handle, bytes: u64, properties: Properties) {
        let mut table = self.table();
        table.forget(handle);
        if !properties.is_exportable() {
            table.created.insert(handle, (bytes, properties));
        }
    }

    /// Records that the driver has mapped memory.
    pub fn map(&self, request: &MapRequest) {
        let mut table = self.table();
        let created = table.created.get(&request.handle).copied();
        table.forget(request.handle);
        if let Some((bytes, properties)) = created
            && (request.offset, request.range.bytes) == (0, bytes)
        {
            table.mapped.insert(request.range.address, (request.range, request.handle, properties));
        }
    }

    /// Removes the memory that these accesses make accessible for the first time, and returns where it can be filled.
    pub fn take_accessible(&self, range: AddressRange, accesses: &[Access]) -> Vec<AddressRange> {
        let mut table = self.table();
        let overlapping = table.overlapping(range);
        let is_filled = |(mapped, properties): &(AddressRange, Properties)| {
            range.contains(*mapped)
                && accesses.iter().any(|access| access.is_read_write_on_home_device(properties))
        };
        for (mapped, _) in &overlapping {
            table.mapped.remove(&mapped.address);
        }
        overlapping.into_iter().filter(is_filled).map(|(mapped, _)| mapped).collect()
    }

    /// Forgets memory that the driver has unmapped.
    pub fn unmap(&self, range: AddressRange) {
        let mut table = self.table();
        for (mapped, _) in table.overlapping(range) {
            table.mapped.remove(&mapped.address);
        }
    }

    /// Forgets memory that a library has released. Where it is mapped, it can still become accessible.
    pub fn release(&self, handle: Handle) {
        self.table().created.remove(&handle);
    }

    /// Forgets memory of which a library has obtained a second handle.
    pub fn forget(&self, handle: Handle) {
        self.table().forget(handle);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn forget(&mut self, handle: Handle) {
        self.created.remove(&handle);
        self.mapped.retain(|_, (_, mapped, _)| *mapped != handle);
    }

    fn overlapping(&self, range: AddressRange) -> Vec<(AddressRange, Properties)> {
        let all = self.mapped.values();
        all.filter(|(mapped, ..)| mapped.overlaps(range)).map(|(mapped, _, of)| (*mapped, *of)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: AddressRange = AddressRange { address: Address(1 << 30), bytes: 1 << 21 };
    const HANDLE: Handle = Handle(7);

    /// Pinned memory of device 0, which other processes may reach if its handle has a type.
    fn properties(handle_type: u8) -> Properties {
        let mut bytes = [0; 32];
        (bytes[0], bytes[4], bytes[8]) = (1, handle_type, 1);
        Properties(bytes)
    }

    /// Access of device 0 with these flags.
    fn access(flags: u8) -> [Access; 1] {
        let mut bytes = [0; 12];
        (bytes[0], bytes[8]) = (1, flags);
        [Access(bytes)]
    }

    fn map(memory: &FreshMemory, address: u64, offset: u64) {
        let range = AddressRange { address: Address(address), ..RANGE };
        memory.map(&MapRequest { range, offset, handle: HANDLE, flags: 0 });
    }

    /// Memory that was created with the size of the range.
    fn created(handle_type: u8) -> FreshMemory {
        let memory = FreshMemory::new();
        memory.insert(HANDLE, RANGE.bytes, properties(handle_type));
        memory
    }

    #[test]
    fn memory_is_filled_at_its_first_access_only() {
        let memory = created(0);
        map(&memory, RANGE.address.0, 0);
        memory.release(HANDLE);
        assert_eq!(memory.take_accessible(RANGE, &access(3)), [RANGE]);
        assert_eq!(memory.take_accessible(RANGE, &access(3)), []);
        map(&memory, RANGE.address.0, 0);
        assert_eq!(memory.take_accessible(RANGE, &access(3)), []);
    }

    #[test]
    fn memory_that_may_have_been_written_is_left_as_it_is() {
        let twice = created(0);
        map(&twice, RANGE.address.0, 0);
        map(&twice, 2 * RANGE.address.0, 0);
        let parts = created(0);
        map(&parts, RANGE.address.0, 4096);
        let (exportable, retained, unmapped, read_only) = (created(1), created(0), created(0), created(0));
        for memory in [&exportable, &retained, &unmapped, &read_only] {
            map(memory, RANGE.address.0, 0);
        }
        retained.forget(HANDLE);
        unmapped.unmap(RANGE);
        assert_eq!(read_only.take_accessible(RANGE, &access(1)), []);
        for memory in [twice, parts, exportable, retained, unmapped, read_only] {
            assert_eq!(memory.take_accessible(RANGE, &access(3)), []);
        }
    }
}
