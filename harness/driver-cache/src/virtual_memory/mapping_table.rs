use std::collections::BTreeMap;

use crate::{
    driver::{Access, Address, AddressRange, Context, Handle, MapRequest, Properties, VirtualMemoryDriver},
    idle_limit::MAX_IDLE_BYTES,
};

/// What the driver has reserved, created and mapped on behalf of the libraries, and which of it is idle: freed by the
/// library and still with the driver.
pub struct MappingTable {
    ranges: BTreeMap<Address, Reservation>,
    handles: BTreeMap<Handle, Allocation>,
    /// By address. Each maps the whole of a handle at the whole of a range, and is the handle's only mapping.
    mappings: BTreeMap<Address, Mapping>,
}

struct Reservation {
    bytes: u64,
    alignment: u64,
    /// Whether no library holds the range.
    is_idle: bool,
}

struct Allocation {
    bytes: u64,
    properties: Properties,
    /// Whether no library holds the handle.
    is_idle: bool,
}

/// A mapping in the driver.
#[derive(Clone, Copy)]
pub struct Mapping {
    /// The mapped memory.
    pub handle: Handle,
    /// The length in bytes.
    pub bytes: u64,
    /// The context in which it was mapped.
    pub context: Context,
    /// The access that the driver granted; `None` before there is one.
    pub access: Option<Access>,
    /// Whether the library has unmapped it.
    is_idle: bool,
}

impl MappingTable {
    pub const fn new() -> Self {
        Self { ranges: BTreeMap::new(), handles: BTreeMap::new(), mappings: BTreeMap::new() }
    }

    /// Lends an idle range that has an idle mapping, preferably one whose memory is lent already; `None` if there is none
    /// of this size and alignment.
    pub fn lend_idle_range(&mut self, bytes: u64, alignment: u64) -> Option<Address> {
        let fits = |(address, mapping): &(&Address, &Mapping)| {
            let reservation = self.ranges.get(address);
            let matches = |it: &Reservation| it.is_idle && (it.bytes, it.alignment) == (bytes, alignment);
            mapping.is_idle && reservation.is_some_and(matches)
        };
        let is_handle_lent =
            |mapping: &Mapping| self.handles.get(&mapping.handle).is_some_and(|handle| !handle.is_idle);
        let found = self.mappings.iter().filter(fits).max_by_key(|(_, mapping)| is_handle_lent(mapping));
        let address = *found?.0;
        self.ranges.get_mut(&address)?.is_idle = false;
        Some(address)
    }

    /// Lends idle memory that has an idle mapping, preferably one whose range is lent already; `None` if there is none of
    /// this size and these properties.
    pub fn lend_idle_handle(&mut self, bytes: u64, properties: &Properties) -> Option<Handle> {
        let fits = |(_, mapping): &(&Address, &Mapping)| {
            let matches = |it: &Allocation| it.is_idle && (it.bytes, &it.properties) == (bytes, properties);
            mapping.is_idle && self.handles.get(&mapping.handle).is_some_and(matches)
        };
        let is_range_lent = |address: &Address| self.ranges.get(address).is_some_and(|range| !range.is_idle);
        let found = self.mappings.iter().filter(fits).max_by_key(|(address, _)| is_range_lent(address));
        let handle = found?.1.handle;
        self.handles.get_mut(&handle)?.is_idle = false;
        Some(handle)
    }

    /// Records a range that the driver has just reserved, in place of any that was known at its address: that one has returned
    /// to the driver unseen.
    pub fn insert_range(&mut self, address: Address, bytes: u64, alignment: u64) {
        self.mappings.remove(&address);
        self.ranges.insert(address, Reservation { bytes, alignment, is_idle: false });
    }

    /// Records memory that the driver has just created.
    pub fn insert_handle(&mut self, handle: Handle, bytes: u64, properties: Properties) {
        self.handles.insert(handle, Allocation { bytes, properties, is_idle: false });
    }

    /// Records a mapping that the driver has just made. One that cannot be reused is left to the driver, with its memory.
    pub fn insert_mapping(&mut self, request: &MapRequest, context: Option<Context>) {
        let MapRequest { range, handle, .. } = *request;
        match context {
            Some(context) if self.is_reusable(request) => {
                let mapping = Mapping { handle, bytes: range.bytes, context, access: None, is_idle: false };
                self.mappings.insert(range.address, mapping);
            }
            _ => self.forget_handle(handle),
        }
    }

    /// Puts an idle mapping back into use if it is just what is requested, and returns whether it is.
    pub fn restore(&mut self, request: &MapRequest, context: Option<Context>) -> bool {
        let is_whole = self.is_whole(request);
        let Some(mapping) = self.mappings.get_mut(&request.range.address) else { return false };
        let matches = is_whole
            && mapping.is_idle
            && mapping.handle == request.handle
            && Some(mapping.context) == context;
        mapping.is_idle &= !matches;
        matches
    }

    /// Whether a mapping can be kept: it is whole, the only one of its memory, and the memory is not exportable.
    fn is_reusable(&self, request: &MapRequest) -> bool {
        let handle = request.handle;
        let is_exportable = self.handles.get(&handle).is_some_and(|it| it.properties.is_exportable());
        self.is_whole(request)
            && !is_exportable
            && self.mappings.values().all(|mapping| mapping.handle != handle)
    }

    /// Whether the whole of a handle is mapped at the whole of a range, both lent from this table.
    fn is_whole(&self, request: &MapRequest) -> bool {
        let MapRequest { range, offset, handle, flags } = *request;
        let reservation = self.ranges.get(&range.address);
        let allocation = self.handles.get(&handle);
        (offset, flags) == (0, 0)
            && reservation.is_some_and(|it| !it.is_idle && it.bytes == range.bytes)
            && allocation.is_some_and(|it| !it.is_idle && it.bytes == range.bytes)
    }

    /// Returns the access to be kept: the only one requested, for all of a mapping in use, of reading and writing on the
    /// memory's own device. `None` for any other request.
    pub fn reusable_access(&self, range: AddressRange, accesses: &[Access]) -> Option<Access> {
        let [access] = *accesses else { return None };
        let mapping = self.mapping_in_use(range)?;
        let allocation = self.handles.get(&mapping.handle)?;
        let is_unchanged = mapping.access.is_none_or(|known| known == access);
        let is_read_write = access.is_read_write_on_home_device(&allocation.properties);
        (is_unchanged && is_read_write).then_some(access)
    }

    /// The recorded access of the mapping at `address`; `None` without a mapping or before it has an access.
    pub fn access(&self, address: Address) -> Option<Access> {
        self.mappings.get(&address)?.access
    }

    /// Records the access that the driver has just granted to the mapping at `address`, if there is one.
    pub fn record_access(&mut self, address: Address, access: Option<Access>) {
        if let Some(mapping) = self.mappings.get_mut(&address) {
            mapping.access = access;
        }
    }

    /// The mapping of the whole range that the library has in use, if any.
    pub fn mapping_in_use(&self, range: AddressRange) -> Option<Mapping> {
        let mapping = self.mappings.get(&range.address)?;
        (!mapping.is_idle && mapping.bytes == range.bytes).then_some(*mapping)
    }

    /// The idle mapping of a handle and the range that it covers, if any.
    pub fn idle_mapping(&self, handle: Handle) -> Option<(AddressRange, Mapping)> {
        let mut idle = self.mappings.iter().filter(|(_, mapping)| mapping.is_idle);
        let (address, mapping) = idle.find(|(_, mapping)| mapping.handle == handle)?;
        Some((AddressRange { address: *address, bytes: mapping.bytes }, *mapping))
    }

    /// Whether part of the range is mapped in the driver and unmapped for the library.
    pub fn overlaps_idle(&self, range: AddressRange) -> bool {
        self.mappings.iter().any(|(address, mapping)| {
            mapping.is_idle && range.overlaps(AddressRange { address: *address, bytes: mapping.bytes })
        })
    }

    /// Whether the library has freed the range at `address` and the driver still has it.
    pub fn is_idle_range(&self, address: Address) -> bool {
        self.ranges.get(&address).is_some_and(|range| range.is_idle)
    }

    /// Whether the library has released the handle and the driver still has it.
    pub fn is_idle_handle(&self, handle: Handle) -> bool {
        self.handles.get(&handle).is_some_and(|allocation| allocation.is_idle)
    }

    /// Makes the mapping at `address` idle; false if there is none.
    pub fn make_idle(&mut self, address: Address) -> bool {
        self.mappings.get_mut(&address).map(|mapping| mapping.is_idle = true).is_some()
    }

    /// Makes a handle idle; false if it is not in the table.
    pub fn make_handle_idle(&mut self, handle: Handle) -> bool {
        self.handles.get_mut(&handle).map(|allocation| allocation.is_idle = true).is_some()
    }

    /// Makes a range idle; false if it is not in the table or has no idle mapping of its whole length.
    pub fn make_range_idle(&mut self, range: AddressRange) -> bool {
        let mapping = self.mappings.get(&range.address);
        let has_idle_mapping = mapping.is_some_and(|mapping| mapping.is_idle && mapping.bytes == range.bytes);
        has_idle_mapping
            && self.ranges.get_mut(&range.address).map(|reservation| reservation.is_idle = true).is_some()
    }

    /// Has the driver undo the idle mappings that `concerns` selects, and return their memory and addresses as far as these
    /// are idle too.
    pub fn undo_idle(
        &mut self,
        concerns: impl Fn(AddressRange, &Mapping) -> bool,
        driver: &impl VirtualMemoryDriver,
    ) {
        let concerned = |(address, mapping): (&Address, &Mapping)| {
            let range = AddressRange { address: *address, bytes: mapping.bytes };
            (mapping.is_idle && concerns(range, mapping)).then_some((range, mapping.handle))
        };
        let idle: Vec<_> = self.mappings.iter().filter_map(concerned).collect();
        for (range, handle) in idle {
            if driver.unmap(range).is_err() {
                continue;
            }
            self.mappings.remove(&range.address);
            if self.is_idle_handle(handle) {
                self.handles.remove(&handle);
                let _ = driver.release(handle);
            }
            if self.is_idle_range(range.address) {
                self.forget_range(range.address);
                let _ = driver.free(range);
            }
        }
    }

    /// Returns all idle memory to the driver.
    pub fn release_idle(&mut self, driver: &impl VirtualMemoryDriver) {
        let idle: Vec<_> =
            self.mappings.values().map(|it| it.handle).filter(|it| self.is_idle_handle(*it)).collect();
        self.undo_idle(|_, mapping| idle.contains(&mapping.handle), driver);
    }

    /// Whether so many bytes more may be idle.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.idle_bytes() + bytes <= MAX_IDLE_BYTES
    }

    fn idle_bytes(&self) -> u64 {
        self.mappings.values().filter(|mapping| mapping.is_idle).map(|mapping| mapping.bytes).sum()
    }

    /// Forgets a range that has returned to the driver.
    pub fn forget_range(&mut self, address: Address) {
        self.ranges.remove(&address);
    }

    /// Leaves memory and its mappings to the driver.
    pub fn forget_handle(&mut self, handle: Handle) {
        self.handles.remove(&handle);
        self.mappings.retain(|_, mapping| mapping.handle != handle);
    }

    /// Leaves the mappings in use that overlap a range to the driver, with their memory: it may stay mapped there.
    pub fn forget_mappings(&mut self, range: AddressRange) {
        let concerned = |(address, mapping): (&Address, &Mapping)| {
            !mapping.is_idle && range.overlaps(AddressRange { address: *address, bytes: mapping.bytes })
        };
        let in_use = self.mappings.iter().filter(|mapping| concerned(*mapping));
        let handles: Vec<_> = in_use.map(|(_, mapping)| mapping.handle).collect();
        for handle in handles {
            self.forget_handle(handle);
        }
    }

    /// Forgets a mapping that the driver has undone. Its memory can be mapped and kept again.
    pub fn remove_mapping(&mut self, address: Address) {
        self.mappings.remove(&address);
    }
}
