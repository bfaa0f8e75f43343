//! The CUDA driver as the caches call it: its types, and one trait for each kind of memory. Tests implement the traits with
//! a simulated device.

use twinfer_case::PoisonPattern;

/// `CUDA_ERROR_INVALID_VALUE`.
pub const INVALID_VALUE: CudaError = CudaError(1);
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub const OUT_OF_MEMORY: CudaError = CudaError(2);

/// A `CUresult` other than `CUDA_SUCCESS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaError(pub i32);

/// A `CUdeviceptr`, or the address of pinned host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(pub u64);

/// A `CUcontext`; null where `cuCtxGetCurrent` finds no current context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Context(pub usize);

/// A range of virtual addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    /// The first address.
    pub address: Address,
    /// The length in bytes.
    pub bytes: u64,
}

impl Context {
    /// Whether the handle is null.
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }
}

impl AddressRange {
    /// The `bytes` bytes from `address` on.
    pub const fn at(address: u64, bytes: usize) -> Self {
        Self { address: Address(address), bytes: bytes as u64 }
    }

    /// Whether every address of `other` is in this range.
    pub const fn contains(self, other: Self) -> bool {
        self.address.0 <= other.address.0
            && other.address.0.saturating_add(other.bytes) <= self.address.0.saturating_add(self.bytes)
    }

    /// Whether the two ranges have an address in common.
    pub const fn overlaps(self, other: Self) -> bool {
        self.address.0 < other.address.0.saturating_add(other.bytes)
            && other.address.0 < self.address.0.saturating_add(self.bytes)
    }
}

/// The memory that a block lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// Device memory of `cuMemAlloc`.
    Device,
    /// Pinned host memory of `cuMemHostAlloc`, with the flags of that call.
    Host(u32),
}

impl Space {
    /// Whether the driver frees blocks of both spaces by the same function.
    pub const fn is_freed_as(self, other: Self) -> bool {
        matches!((self, other), (Self::Device, Self::Device) | (Self::Host(_), Self::Host(_)))
    }
}

/// The calls about the current context.
pub trait ContextDriver {
    /// `cuCtxGetCurrent`.
    fn current_context(&self) -> Result<Context, CudaError>;

    /// Returns the current context; `None` if no context is current or the driver fails.
    fn context(&self) -> Option<Context> {
        self.current_context().ok().filter(|context| !context.is_null())
    }

    /// Waits for all work submitted to the current context.
    fn synchronize(&self) -> Result<(), CudaError>;
}

/// The calls about blocks of device memory and pinned host memory.
pub trait BlockDriver: ContextDriver {
    /// Allocates a block of `bytes` bytes.
    fn allocate(&self, space: Space, bytes: u64) -> Result<Address, CudaError>;

    /// Waits for all work submitted to the context and frees the block.
    fn free(&self, space: Space, address: Address) -> Result<(), CudaError>;

    /// Sets a block to zero and waits until it is.
    fn clear(&self, space: Space, address: Address, bytes: u64) -> Result<(), CudaError>;
}

/// The calls that fill, read and write memory.
pub trait PoisonDriver: BlockDriver {
    /// Fills an even number of bytes at an even address with a pattern and waits until they hold it.
    fn fill(&self, space: Space, range: AddressRange, pattern: PoisonPattern) -> Result<(), CudaError>;

    /// Copies memory to `bytes`.
    fn read(&self, space: Space, address: Address, bytes: &mut [u8]) -> Result<(), CudaError>;

    /// Copies `bytes` to memory.
    fn write(&self, space: Space, address: Address, bytes: &[u8]) -> Result<(), CudaError>;
}

/// A `CUmemGenericAllocationHandle`: physical memory that can be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle(pub u64);

/// A `CUmemAllocationProp`, byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Properties(pub [u8; 32]);

impl Properties {
    /// `CUmemAllocationProp::location`: a type and a device number.
    fn location(&self) -> &[u8] {
        &self.0[8..16]
    }

    /// Whether the memory can be exported to other processes: `requestedHandleTypes` is not `CU_MEM_HANDLE_TYPE_NONE`.
    pub fn is_exportable(&self) -> bool {
        self.0[4..8] != [0; 4]
    }
}

/// A `CUmemAccessDesc`, byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Access(pub [u8; 12]);

impl Access {
    /// Whether it grants `CU_MEM_ACCESS_FLAGS_PROT_READWRITE` to the device that holds the memory.
    pub fn is_read_write_on_home_device(&self, properties: &Properties) -> bool {
        let (location, flags) = self.0.split_at(8);
        location == properties.location() && flags == 3_u32.to_le_bytes()
    }
}

/// The arguments of `cuMemMap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapRequest {
    /// The addresses at which the memory is mapped.
    pub range: AddressRange,
    /// The offset in the memory in bytes.
    pub offset: u64,
    /// The memory.
    pub handle: Handle,
    /// The flags, of which CUDA defines none.
    pub flags: u64,
}

impl MapRequest {
    /// The arguments in the order of `cuMemMap`.
    pub const fn of(address: u64, bytes: usize, offset: usize, handle: u64, flags: u64) -> Self {
        let range = AddressRange::at(address, bytes);
        Self { range, offset: offset as u64, handle: Handle(handle), flags }
    }
}

/// The calls about virtual memory.
pub trait VirtualMemoryDriver: ContextDriver {
    /// Sets mapped memory to zero and waits until it is.
    fn clear(&self, range: AddressRange) -> Result<(), CudaError>;

    /// `cuMemAddressReserve` at an address of the driver's choice.
    fn reserve(&self, bytes: u64, alignment: u64) -> Result<Address, CudaError>;

    /// `cuMemCreate`.
    fn create(&self, bytes: u64, properties: &Properties) -> Result<Handle, CudaError>;

    /// `cuMemMap`.
    fn map(&self, request: &MapRequest) -> Result<(), CudaError>;

    /// `cuMemSetAccess`.
    fn set_access(&self, range: AddressRange, accesses: &[Access]) -> Result<(), CudaError>;

    /// `cuMemUnmap`.
    fn unmap(&self, range: AddressRange) -> Result<(), CudaError>;

    /// `cuMemRelease`.
    fn release(&self, handle: Handle) -> Result<(), CudaError>;

    /// `cuMemAddressFree`.
    fn free(&self, range: AddressRange) -> Result<(), CudaError>;
}
