use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use crate::driver::{
    Access, Address, AddressRange, Context, ContextDriver, CudaError, Handle, INVALID_VALUE, MapRequest,
    OUT_OF_MEMORY, Properties, VirtualMemoryDriver,
};

pub const CONTEXT: Context = Context(1);
pub const ILLEGAL_ADDRESS: CudaError = CudaError(700);

/// A simulated device that refuses what the driver refuses. One byte stands for the contents of a handle's memory.
pub struct Device {
    pub context: Cell<Context>,
    next: Cell<u64>,
    /// Lengths by address.
    reserved: RefCell<BTreeMap<u64, u64>>,
    created: RefCell<BTreeMap<u64, Memory>>,
    /// Lengths and handles by address.
    mapped: RefCell<BTreeMap<u64, (u64, u64)>>,
    calls: RefCell<Vec<&'static str>>,
    /// The bytes that can be created.
    room: u64,
    /// Whether every call fails.
    pub is_lost: Cell<bool>,
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
            context: Cell::new(CONTEXT),
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
    /// A device on which so many bytes can be created.
    pub fn with_room(bytes: u64) -> Self {
        Self { room: bytes, ..Self::default() }
    }

    fn new_number(&self) -> u64 {
        self.next.set(self.next.get() + (1 << 32));
        self.next.get()
    }

    fn record(&self, call: &'static str) -> Result<(), CudaError> {
        self.calls.borrow_mut().push(call);
        if self.is_lost.get() { Err(ILLEGAL_ADDRESS) } else { Ok(()) }
    }

    /// The calls since this was last called.
    pub fn calls(&self) -> Vec<&'static str> {
        self.calls.take()
    }

    /// The number of ranges, handles and mappings that exist.
    pub fn holds(&self) -> [usize; 3] {
        [self.reserved.borrow().len(), self.created.borrow().len(), self.mapped.borrow().len()]
    }

    pub fn byte(&self, range: AddressRange) -> Option<u8> {
        let (_, handle) = *self.mapped.borrow().get(&range.address.0)?;
        Some(self.created.borrow().get(&handle)?.byte)
    }

    pub fn write(&self, range: AddressRange, byte: u8) {
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

    fn is_mapped(&self, range: AddressRange) -> bool {
        self.mapped.borrow().iter().any(|(address, (bytes, _))| {
            range.overlaps(AddressRange { address: Address(*address), bytes: *bytes })
        })
    }

    /// Frees memory whose handle is released and which is mapped nowhere.
    fn drop_unused(&self) {
        let mapped = self.mapped.borrow();
        let is_used = |handle: &u64| mapped.values().any(|(_, of)| of == handle);
        self.created.borrow_mut().retain(|handle, memory| memory.is_held || is_used(handle));
    }
}

impl ContextDriver for Device {
    fn current_context(&self) -> Result<Context, CudaError> {
        Ok(self.context.get())
    }

    fn synchronize(&self) -> Result<(), CudaError> {
        self.record("synchronize")
    }
}

impl VirtualMemoryDriver for Device {
    fn clear(&self, range: AddressRange) -> Result<(), CudaError> {
        self.record("clear")?;
        assert!(self.mapped.borrow().contains_key(&range.address.0), "only mapped memory is cleared");
        self.write(range, 0);
        Ok(())
    }

    fn reserve(&self, bytes: u64, _: u64) -> Result<Address, CudaError> {
        self.record("reserve")?;
        let address = self.new_number();
        self.reserved.borrow_mut().insert(address, bytes);
        Ok(Address(address))
    }

    fn create(&self, bytes: u64, _: &Properties) -> Result<Handle, CudaError> {
        self.record("create")?;
        let held: u64 = self.created.borrow().values().map(|memory| memory.bytes).sum();
        if held + bytes > self.room {
            return Err(OUT_OF_MEMORY);
        }
        let handle = self.new_number();
        self.created.borrow_mut().insert(handle, Memory { bytes, byte: 0, is_held: true });
        Ok(Handle(handle))
    }

    fn map(&self, mapping: &MapRequest) -> Result<(), CudaError> {
        self.record("map")?;
        let MapRequest { range, handle, .. } = mapping;
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

    fn set_access(&self, range: AddressRange, _: &[Access]) -> Result<(), CudaError> {
        self.record("set_access")?;
        self.is_mapped(range).then_some(()).ok_or(INVALID_VALUE)
    }

    fn unmap(&self, range: AddressRange) -> Result<(), CudaError> {
        self.record("unmap")?;
        let found = self.mapped.borrow().get(&range.address.0).copied();
        found.filter(|(bytes, _)| *bytes == range.bytes).ok_or(INVALID_VALUE)?;
        self.mapped.borrow_mut().remove(&range.address.0);
        self.drop_unused();
        Ok(())
    }

    fn release(&self, handle: Handle) -> Result<(), CudaError> {
        self.record("release")?;
        match self.created.borrow_mut().get_mut(&handle.0) {
            Some(memory) if memory.is_held => memory.is_held = false,
            _ => return Err(INVALID_VALUE),
        }
        self.drop_unused();
        Ok(())
    }

    fn free(&self, range: AddressRange) -> Result<(), CudaError> {
        self.record("free")?;
        let is_it = self.reserved.borrow().get(&range.address.0) == Some(&range.bytes);
        if !is_it || self.is_mapped(range) {
            return Err(INVALID_VALUE);
        }
        self.reserved.borrow_mut().remove(&range.address.0);
        Ok(())
    }
}
