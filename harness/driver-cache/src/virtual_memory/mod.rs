//! Virtual memory: what a library unmaps and frees stays mapped and serves the next request of the same shape.

mod mapping_table;

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use self::mapping_table::MappingTable;
use crate::{
    driver::{
        Access, Address, AddressRange, CudaError, Handle, INVALID_VALUE, MapRequest, Properties,
        VirtualMemoryDriver,
    },
    tally::MemoryTally,
};

/// Keeps ranges of addresses together with the physical memory mapped there, and hands both out again when a library
/// reserves and creates as much as before.
///
/// A library observes what it would observe of a driver that happens to return the same addresses and the same memory. Unmapping
/// waits for the context. Released memory is zero before it is handed out again; memory that is only unmapped keeps its
/// contents. Everything else goes to the driver, after the mappings in its way have been undone there: partial mappings, two
/// mappings of one handle, any access other than read and write on the memory's own device, and exportable memory.
pub struct VirtualMemory {
    table: Mutex<MappingTable>,
    asked: AtomicU64,
    answered_by_driver: AtomicU64,
}

/// The virtual memory of this process.
pub static VIRTUAL_MEMORY: VirtualMemory = VirtualMemory::new();

impl VirtualMemory {
    pub const fn new() -> Self {
        Self {
            table: Mutex::new(MappingTable::new()),
            asked: AtomicU64::new(0),
            answered_by_driver: AtomicU64::new(0),
        }
    }

    /// Returns the successful calls of [`create`](Self::create) so far.
    pub fn tally(&self) -> MemoryTally {
        MemoryTally {
            asked: self.asked.load(Relaxed),
            answered_by_driver: self.answered_by_driver.load(Relaxed),
        }
    }

    /// Reserves addresses: idle ones of the same size and alignment, or else new ones from the driver.
    pub fn reserve(
        &self,
        bytes: u64,
        alignment: u64,
        driver: &impl VirtualMemoryDriver,
    ) -> Result<Address, CudaError> {
        let mut table = self.table();
        if let Some(address) = table.lend_idle_range(bytes, alignment) {
            return Ok(address);
        }
        let address = driver.reserve(bytes, alignment)?;
        table.insert_range(address, bytes, alignment);
        Ok(address)
    }

    /// Creates physical memory: idle memory of the same size and properties, or else new memory from the driver.
    pub fn create(
        &self,
        bytes: u64,
        properties: &Properties,
        driver: &impl VirtualMemoryDriver,
    ) -> Result<Handle, CudaError> {
        let mut table = self.table();
        let idle = table.lend_idle_handle(bytes, properties);
        let handle = idle.map_or_else(|| driver.create(bytes, properties), Ok)?;
        if idle.is_none() {
            self.answered_by_driver.fetch_add(1, Relaxed);
            table.insert_handle(handle, bytes, *properties);
        }
        self.asked.fetch_add(1, Relaxed);
        Ok(handle)
    }

    /// Maps memory: at no cost if the driver still has this very mapping, or else through the driver.
    pub fn map(&self, request: &MapRequest, driver: &impl VirtualMemoryDriver) -> Result<(), CudaError> {
        let mut table = self.table();
        let context = driver.context();
        if table.restore(request, context) {
            return Ok(());
        }
        table.undo_idle(
            |range, mapping| mapping.handle == request.handle || request.range.overlaps(range),
            driver,
        );
        driver.map(request)?;
        table.insert_mapping(request, context);
        Ok(())
    }

    /// Sets accesses: at no cost if the mapping has just this access already, or else through the driver.
    pub fn set_access(
        &self,
        range: AddressRange,
        accesses: &[Access],
        driver: &impl VirtualMemoryDriver,
    ) -> Result<(), CudaError> {
        let mut table = self.table();
        if table.overlaps_idle(range) {
            return Err(INVALID_VALUE);
        }
        let reusable = table.reusable_access(range, accesses);
        if reusable.is_some() && table.access(range.address) == reusable {
            return Ok(());
        }
        if reusable.is_none() {
            table.forget_mappings(range);
        }
        driver.set_access(range, accesses)?;
        table.record_access(range.address, reusable);
        Ok(())
    }

    /// Leaves the range mapped in the driver for the next request, or else has the driver unmap it.
    pub fn unmap(&self, range: AddressRange, driver: &impl VirtualMemoryDriver) -> Result<(), CudaError> {
        let mapping = self.table().mapping_in_use(range);
        // without the lock: the work that is waited for may need it
        let is_reusable = mapping.is_some_and(|mapping| {
            mapping.access.is_some()
                && driver.context() == Some(mapping.context)
                && driver.synchronize().is_ok()
        });
        let mut table = self.table();
        if table.overlaps_idle(range) {
            return Err(INVALID_VALUE);
        }
        if is_reusable && !table.has_room(range.bytes) {
            table.release_idle(driver);
        }
        if is_reusable && table.has_room(range.bytes) && table.make_idle(range.address) {
            return Ok(());
        }
        let unmapped = driver.unmap(range);
        match mapping {
            Some(_) if unmapped.is_ok() => table.remove_mapping(range.address),
            _ => table.forget_mappings(range),
        }
        unmapped
    }

    /// Keeps memory that is still mapped in the driver, cleared, or else has the driver release it.
    pub fn release(&self, handle: Handle, driver: &impl VirtualMemoryDriver) -> Result<(), CudaError> {
        let mapping = {
            let table = self.table();
            if table.is_idle_handle(handle) {
                return Err(INVALID_VALUE);
            }
            table.idle_mapping(handle)
        };
        let is_cleared = mapping.is_some_and(|(range, mapping)| {
            driver.context() == Some(mapping.context) && driver.clear(range).is_ok()
        });
        let mut table = self.table();
        if is_cleared && table.make_handle_idle(handle) {
            return Ok(());
        }
        table.undo_idle(|_, mapping| mapping.handle == handle, driver);
        // memory that is mapped lasts until the driver unmaps it
        table.forget_handle(handle);
        driver.release(handle)
    }

    /// Keeps addresses at which idle memory is mapped, or else has the driver free them.
    pub fn free(&self, range: AddressRange, driver: &impl VirtualMemoryDriver) -> Result<(), CudaError> {
        let mut table = self.table();
        if table.is_idle_range(range.address) {
            return Err(INVALID_VALUE);
        }
        if table.make_range_idle(range) {
            return Ok(());
        }
        driver.free(range)?;
        table.forget_range(range.address);
        Ok(())
    }

    /// Leaves memory to the driver for good, because a library has obtained a second handle of it.
    pub fn forget(&self, handle: Handle) {
        self.table().forget_handle(handle);
    }

    /// Returns all idle memory to the driver.
    pub fn release_idle(&self, driver: &impl VirtualMemoryDriver) {
        self.table().release_idle(driver);
    }

    fn table(&self) -> MutexGuard<'_, MappingTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
