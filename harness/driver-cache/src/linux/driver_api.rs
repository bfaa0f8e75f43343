//! The functions of the CUDA driver that the hooks call.
#![expect(unsafe_code, reason = "functions of the CUDA driver are called")]

use std::{
    ffi::{CStr, c_int, c_uchar, c_uint, c_ushort, c_void},
    mem::{MaybeUninit, transmute},
    ptr, slice,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use twinfer_case::PoisonPattern;

use crate::{
    blocks::BLOCK_CACHE,
    driver::{
        Access, Address, AddressRange, BlockDriver, Context, ContextDriver, CudaError, Handle, MapRequest,
        OUT_OF_MEMORY, PoisonDriver, Properties, Space, VirtualMemoryDriver,
    },
    free_memory::MemoryInfo,
    idle_limit::MAX_IDLE_BYTES,
    virtual_memory::VIRTUAL_MEMORY,
};

pub const CUDA_SUCCESS: c_int = 0;

pub type MemAlloc = unsafe extern "C" fn(*mut u64, usize) -> c_int;
pub type MemFree = unsafe extern "C" fn(u64) -> c_int;
pub type MemAllocAsync = unsafe extern "C" fn(*mut u64, usize, *mut c_void) -> c_int;
pub type MemFreeAsync = unsafe extern "C" fn(u64, *mut c_void) -> c_int;
pub type MemHostAlloc = unsafe extern "C" fn(*mut *mut c_void, usize, c_uint) -> c_int;
pub type MemAllocHost = unsafe extern "C" fn(*mut *mut c_void, usize) -> c_int;
pub type MemAllocFromPoolAsync = unsafe extern "C" fn(*mut u64, usize, *mut c_void, *mut c_void) -> c_int;
pub type MemGetAddressRange = unsafe extern "C" fn(*mut u64, *mut usize, u64) -> c_int;
pub type MemFreeHost = unsafe extern "C" fn(*mut c_void) -> c_int;
pub type MemGetInfo = unsafe extern "C" fn(*mut usize, *mut usize) -> c_int;
pub type MemAddressReserve = unsafe extern "C" fn(*mut u64, usize, usize, u64, u64) -> c_int;
pub type MemAddressFree = unsafe extern "C" fn(u64, usize) -> c_int;
pub type MemCreate = unsafe extern "C" fn(*mut u64, usize, *const Properties, u64) -> c_int;
pub type MemRetain = unsafe extern "C" fn(*mut u64, *mut c_void) -> c_int;
pub type MemRelease = unsafe extern "C" fn(u64) -> c_int;
pub type MemMap = unsafe extern "C" fn(u64, usize, usize, u64, u64) -> c_int;
pub type MemSetAccess = unsafe extern "C" fn(u64, usize, *const Access, usize) -> c_int;
pub type MemUnmap = unsafe extern "C" fn(u64, usize) -> c_int;
pub type EventCreate = unsafe extern "C" fn(*mut *mut c_void, c_uint) -> c_int;
pub type EventSynchronize = unsafe extern "C" fn(*mut c_void) -> c_int;
type EventQuery = unsafe extern "C" fn(*mut c_void) -> c_int;
type MemsetD8 = unsafe extern "C" fn(u64, c_uchar, usize) -> c_int;
type MemsetD8Async = unsafe extern "C" fn(u64, c_uchar, usize, *mut c_void) -> c_int;
type MemsetD16 = unsafe extern "C" fn(u64, c_ushort, usize) -> c_int;
type MemsetD16Async = unsafe extern "C" fn(u64, c_ushort, usize, *mut c_void) -> c_int;
type MemcpyDtoH = unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int;
type MemcpyHtoD = unsafe extern "C" fn(u64, *const c_void, usize) -> c_int;
type CtxGetCurrent = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type CtxGetDevice = unsafe extern "C" fn(*mut c_int) -> c_int;
type CtxSynchronize = unsafe extern "C" fn() -> c_int;
type DeviceGetMemPool = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
type MemPoolAttribute = unsafe extern "C" fn(*mut c_void, c_int, *mut u64) -> c_int;

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`: the number of bytes that a pool keeps when the process synchronizes with it.
const RELEASE_THRESHOLD: c_int = 4;

/// What is not found if the driver's functions cannot even be looked for.
const LIBRARY: &CStr = c"library";

macro_rules! driver_api {
    ($($field:ident: $signature:ty = $name:literal,)*) => {
        /// The functions of the CUDA driver that the hooks call, all of one library.
        pub struct DriverApi {
            $(pub $field: $signature,)*
        }

        impl DriverApi {
            /// Collects the functions that `find` finds.
            ///
            /// # Errors
            ///
            /// The name of the first function that it does not find.
            ///
            /// # Safety
            ///
            /// `find` returns addresses of the CUDA driver's functions of these names, which have the signatures above.
            unsafe fn collect(
                find: impl Fn(&'static CStr) -> Result<*mut c_void, &'static CStr>,
            ) -> Result<Self, &'static CStr> {
                // SAFETY: the caller guarantees that each address is a function of the signature beside its name.
                Ok(unsafe { Self { $($field: transmute::<*mut c_void, $signature>(find($name)?),)* } })
            }
        }
    };
}

driver_api! {
    mem_alloc: MemAlloc = c"cuMemAlloc_v2",
    mem_free: MemFree = c"cuMemFree_v2",
    mem_alloc_async: MemAllocAsync = c"cuMemAllocAsync",
    mem_free_async: MemFreeAsync = c"cuMemFreeAsync",
    mem_host_alloc: MemHostAlloc = c"cuMemHostAlloc",
    mem_free_host: MemFreeHost = c"cuMemFreeHost",
    mem_get_info: MemGetInfo = c"cuMemGetInfo_v2",
    mem_address_reserve: MemAddressReserve = c"cuMemAddressReserve",
    mem_address_free: MemAddressFree = c"cuMemAddressFree",
    mem_create: MemCreate = c"cuMemCreate",
    mem_retain: MemRetain = c"cuMemRetainAllocationHandle",
    mem_release: MemRelease = c"cuMemRelease",
    mem_map: MemMap = c"cuMemMap",
    mem_set_access: MemSetAccess = c"cuMemSetAccess",
    mem_unmap: MemUnmap = c"cuMemUnmap",
    event_create: EventCreate = c"cuEventCreate",
    event_query: EventQuery = c"cuEventQuery",
    mem_alloc_from_pool_async: MemAllocFromPoolAsync = c"cuMemAllocFromPoolAsync",
    mem_get_address_range: MemGetAddressRange = c"cuMemGetAddressRange_v2",
    memcpy_dtoh: MemcpyDtoH = c"cuMemcpyDtoH_v2",
    memcpy_htod: MemcpyHtoD = c"cuMemcpyHtoD_v2",
    memset_d16: MemsetD16 = c"cuMemsetD16_v2",
    memset_d16_async: MemsetD16Async = c"cuMemsetD16Async",
    memset_d8: MemsetD8 = c"cuMemsetD8_v2",
    memset_d8_async: MemsetD8Async = c"cuMemsetD8Async",
    ctx_get_current: CtxGetCurrent = c"cuCtxGetCurrent",
    ctx_get_device: CtxGetDevice = c"cuCtxGetDevice",
    ctx_synchronize: CtxSynchronize = c"cuCtxSynchronize",
    device_get_mem_pool: DeviceGetMemPool = c"cuDeviceGetMemPool",
    mem_pool_get_attribute: MemPoolAttribute = c"cuMemPoolGetAttribute",
    mem_pool_set_attribute: MemPoolAttribute = c"cuMemPoolSetAttribute",
}

/// The functions of this process's driver, or the name of the first one that was not found.
static DRIVER_API: OnceLock<Result<DriverApi, &'static CStr>> = OnceLock::new();

impl DriverApi {
    /// Returns the functions of the library that contains `function`, which the first call determines for the whole process.
    /// `None` if the library lacks one of them.
    pub fn of_driver(function: *const c_void) -> Option<&'static Self> {
        DRIVER_API.get_or_init(|| Self::of_library_with(function)).as_ref().ok()
    }

    /// Returns the functions that [`of_driver`](Self::of_driver) has found; `None` before it has found any.
    pub fn get() -> Option<&'static Self> {
        DRIVER_API.get()?.as_ref().ok()
    }

    /// Returns what of the driver was not found; `None` if all was, or if no library has looked up a function yet.
    pub fn missing() -> Option<&'static str> {
        DRIVER_API.get()?.as_ref().err()?.to_str().ok()
    }

    fn of_library_with(function: *const c_void) -> Result<Self, &'static CStr> {
        let mut info = MaybeUninit::<libc::Dl_info>::uninit();
        // SAFETY: `dladdr` accepts any address, and fills the structure whenever it does not return 0.
        let path = unsafe {
            if libc::dladdr(function, info.as_mut_ptr()) == 0 {
                return Err(LIBRARY);
            }
            info.assume_init().dli_fname
        };
        // SAFETY: the path is the dynamic loader's own string; with RTLD_NOLOAD nothing is loaded.
        let library = unsafe { libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if library.is_null() {
            return Err(LIBRARY);
        }
        let find = |name: &'static CStr| {
            // SAFETY: the handle was just opened and is never closed; the name ends with a zero.
            let found = unsafe { libc::dlsym(library, name.as_ptr()) };
            if found.is_null() { Err(name) } else { Ok(found) }
        };
        // SAFETY: `function` was found as a function of the CUDA driver, so the library is the driver.
        unsafe { Self::collect(find) }
    }

    /// Allocates device memory from the driver's pool, which keeps freed memory from now on, and clears it on `stream`.
    ///
    /// # Safety
    ///
    /// As `cuMemAllocAsync`: `address` is null or valid for a write of one address.
    pub unsafe fn allocate_on(
        &self,
        address: *mut u64,
        bytes: usize,
        stream: *mut c_void,
    ) -> Result<(), CudaError> {
        self.keep_pool();
        // SAFETY: the caller's own arguments.
        self.or_release_idle(|| checked(unsafe { (self.mem_alloc_async)(address, bytes, stream) }))?;
        // SAFETY: the driver succeeded, so it has written an address there.
        let block = unsafe { address.read() };
        // SAFETY: the block has `bytes` bytes for all work submitted to this stream from now on.
        checked(unsafe { (self.memset_d8_async)(block, 0, bytes, stream) }).inspect_err(|_| {
            // SAFETY: the caller has not received the block yet.
            unsafe { (self.mem_free_async)(block, stream) };
        })
    }

    /// Fills device memory with a pattern, in order with the other work of `stream`. The last byte of an odd number is left.
    ///
    /// # Safety
    ///
    /// `bytes` bytes at `address` are device memory for all work that is submitted to `stream`, and the library that holds them
    /// expects nothing in them. `stream` is a stream, or a handle that the driver refuses.
    pub unsafe fn fill_on(
        &self,
        address: Address,
        bytes: u64,
        pattern: PoisonPattern,
        stream: *mut c_void,
    ) -> Result<(), CudaError> {
        let (value, count) = (u16::from_le_bytes(pattern.bytes()), bytes as usize / 2);
        // SAFETY: the caller guarantees that the memory may be written in order with the stream.
        checked(unsafe { (self.memset_d16_async)(address.0, value, count, stream) })
    }

    /// `cuMemRetainAllocationHandle`, with the handle that it has written.
    ///
    /// # Safety
    ///
    /// As that function: `handle` is null or valid for a write of one handle.
    pub unsafe fn retain(&self, handle: *mut u64, address: *mut c_void) -> Result<Handle, CudaError> {
        // SAFETY: the caller's own arguments.
        checked(unsafe { (self.mem_retain)(handle, address) })?;
        // SAFETY: the driver succeeded, so it has just written a handle there.
        Ok(Handle(unsafe { handle.read() }))
    }

    /// Makes the pool of the current device keep freed memory, once a device.
    fn keep_pool(&self) {
        static DEVICES: AtomicU64 = AtomicU64::new(0);
        let mut device = 0;
        // SAFETY: the driver writes to a local variable.
        let code = unsafe { (self.ctx_get_device)(&raw mut device) };
        if code == CUDA_SUCCESS && (0..64).contains(&device) && DEVICES.load(Relaxed) >> device & 1 == 0 {
            let is_kept = self.raise_release_threshold(device).is_ok();
            DEVICES.fetch_or(u64::from(is_kept) << device, Relaxed);
        }
    }

    /// Raises the release threshold of a device's pool, unless the library has set one itself.
    fn raise_release_threshold(&self, device: c_int) -> Result<(), CudaError> {
        let (mut pool, mut threshold) = (ptr::null_mut(), 0);
        // SAFETY: the driver writes to local variables; this attribute is a number of 64 bits.
        unsafe {
            checked((self.device_get_mem_pool)(&raw mut pool, device))?;
            checked((self.mem_pool_get_attribute)(pool, RELEASE_THRESHOLD, &raw mut threshold))?;
            if threshold == 0 {
                threshold = MAX_IDLE_BYTES;
                checked((self.mem_pool_set_attribute)(pool, RELEASE_THRESHOLD, &raw mut threshold))?;
            }
        }
        Ok(())
    }

    /// Runs an allocation; if memory is short, returns all idle memory to the driver and runs the allocation once more.
    pub fn or_release_idle<T>(&self, allocate: impl Fn() -> Result<T, CudaError>) -> Result<T, CudaError> {
        match allocate() {
            Err(OUT_OF_MEMORY) => {
                VIRTUAL_MEMORY.release_idle(self);
                BLOCK_CACHE.release_idle(self.current_context()?, self);
                allocate()
            }
            allocated => allocated,
        }
    }

    /// `cuMemGetInfo`.
    pub fn memory_info(&self) -> Result<MemoryInfo, CudaError> {
        let mut info = MemoryInfo { free: 0, total: 0 };
        // SAFETY: the driver writes to local variables.
        checked(unsafe { (self.mem_get_info)(&raw mut info.free, &raw mut info.total) }).map(|()| info)
    }

    /// Sets device memory to zero and waits until it is, because its next user may write to it on any stream.
    fn clear_device(&self, AddressRange { address, bytes }: AddressRange) -> Result<(), CudaError> {
        // SAFETY: the cache holds these bytes of device memory, and no library does.
        checked(unsafe { (self.memset_d8)(address.0, 0, bytes as usize) })?;
        self.synchronize()
    }
}

impl ContextDriver for DriverApi {
    fn current_context(&self) -> Result<Context, CudaError> {
        let mut context = ptr::null_mut();
        // SAFETY: the driver writes to a local variable.
        let code = unsafe { (self.ctx_get_current)(&raw mut context) };
        checked(code).map(|()| Context(context as usize))
    }

    fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: the function takes no argument.
        checked(unsafe { (self.ctx_synchronize)() })
    }
}

impl BlockDriver for DriverApi {
    fn allocate(&self, space: Space, bytes: u64) -> Result<Address, CudaError> {
        match space {
            Space::Device => {
                let mut address = 0;
                // SAFETY: the driver writes to a local variable.
                let code = unsafe { (self.mem_alloc)(&raw mut address, bytes as usize) };
                checked(code).map(|()| Address(address))
            }
            Space::Host(flags) => {
                let mut address = ptr::null_mut();
                // SAFETY: the driver writes to a local variable.
                let code = unsafe { (self.mem_host_alloc)(&raw mut address, bytes as usize, flags) };
                checked(code).map(|()| Address(address.expose_provenance() as u64))
            }
        }
    }

    fn free(&self, space: Space, address: Address) -> Result<(), CudaError> {
        checked(match space {
            // SAFETY: the block is idle, or its library frees it; the driver refuses other addresses.
            Space::Device => unsafe { (self.mem_free)(address.0) },
            // SAFETY: likewise.
            Space::Host(_) => unsafe {
                (self.mem_free_host)(ptr::with_exposed_provenance_mut(address.0 as usize))
            },
        })
    }

    fn clear(&self, space: Space, address: Address, bytes: u64) -> Result<(), CudaError> {
        match space {
            Space::Device => self.clear_device(AddressRange { address, bytes }),
            Space::Host(_) => {
                let start = ptr::with_exposed_provenance_mut::<u8>(address.0 as usize);
                // SAFETY: the driver has allocated `bytes` bytes there and no library holds them: all work submitted before
                // the block was freed has been waited for.
                unsafe { start.write_bytes(0, bytes as usize) };
                Ok(())
            }
        }
    }
}

impl PoisonDriver for DriverApi {
    fn fill(&self, space: Space, range: AddressRange, pattern: PoisonPattern) -> Result<(), CudaError> {
        let AddressRange { address, bytes } = range;
        match space {
            Space::Device => {
                let (value, count) = (u16::from_le_bytes(pattern.bytes()), bytes as usize / 2);
                // SAFETY: the memory was just allocated or is freed, so no library uses it.
                checked(unsafe { (self.memset_d16)(address.0, value, count) })?;
                // its next user may write to it on any stream
                self.synchronize()
            }
            Space::Host(_) => {
                let start = ptr::with_exposed_provenance_mut::<[u8; 2]>(address.0 as usize);
                // SAFETY: the driver has allocated `bytes` bytes there, and no library uses them: they were just allocated, or
                // freed and all work submitted before has been waited for.
                let words = unsafe { slice::from_raw_parts_mut(start, bytes as usize / 2) };
                words.fill(pattern.bytes());
                Ok(())
            }
        }
    }

    fn read(&self, space: Space, address: Address, bytes: &mut [u8]) -> Result<(), CudaError> {
        match space {
            Space::Device => {
                let to = bytes.as_mut_ptr().cast();
                // SAFETY: the driver writes to the slice and refuses addresses that are not allocated.
                checked(unsafe { (self.memcpy_dtoh)(to, address.0, bytes.len()) })
            }
            Space::Host(_) => {
                let from = ptr::with_exposed_provenance::<u8>(address.0 as usize);
                // SAFETY: these are guard bytes of a block that is not returned to the driver yet; the slice is another's memory.
                unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
                Ok(())
            }
        }
    }

    fn write(&self, space: Space, address: Address, bytes: &[u8]) -> Result<(), CudaError> {
        match space {
            Space::Device => {
                // SAFETY: these are guard bytes, which no library holds; the driver reads the slice.
                checked(unsafe { (self.memcpy_htod)(address.0, bytes.as_ptr().cast(), bytes.len()) })?;
                self.synchronize()
            }
            Space::Host(_) => {
                let to = ptr::with_exposed_provenance_mut::<u8>(address.0 as usize);
                // SAFETY: these are guard bytes of a block that is not returned to the driver yet; the slice is another's memory.
                unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
                Ok(())
            }
        }
    }
}

impl VirtualMemoryDriver for DriverApi {
    fn clear(&self, range: AddressRange) -> Result<(), CudaError> {
        self.clear_device(range)
    }

    fn reserve(&self, bytes: u64, alignment: u64) -> Result<Address, CudaError> {
        let mut address = 0;
        // SAFETY: the driver writes to a local variable.
        let code =
            unsafe { (self.mem_address_reserve)(&raw mut address, bytes as usize, alignment as usize, 0, 0) };
        checked(code).map(|()| Address(address))
    }

    fn create(&self, bytes: u64, properties: &Properties) -> Result<Handle, CudaError> {
        let mut handle = 0;
        // SAFETY: the driver writes to a local variable and reads the caller's properties.
        let code = unsafe { (self.mem_create)(&raw mut handle, bytes as usize, properties, 0) };
        checked(code).map(|()| Handle(handle))
    }

    fn map(&self, request: &MapRequest) -> Result<(), CudaError> {
        let MapRequest { range, offset, handle, flags } = *request;
        // SAFETY: the caller's own arguments; idle mappings in the way have been undone.
        checked(unsafe {
            (self.mem_map)(range.address.0, range.bytes as usize, offset as usize, handle.0, flags)
        })
    }

    fn set_access(&self, range: AddressRange, accesses: &[Access]) -> Result<(), CudaError> {
        let (address, bytes) = (range.address.0, range.bytes as usize);
        // SAFETY: the slice has as many accesses as it says.
        checked(unsafe { (self.mem_set_access)(address, bytes, accesses.as_ptr(), accesses.len()) })
    }

    fn unmap(&self, range: AddressRange) -> Result<(), CudaError> {
        // SAFETY: the mapping is idle, or its library unmaps it.
        checked(unsafe { (self.mem_unmap)(range.address.0, range.bytes as usize) })
    }

    fn release(&self, handle: Handle) -> Result<(), CudaError> {
        // SAFETY: the handle is idle, or its library releases it.
        checked(unsafe { (self.mem_release)(handle.0) })
    }

    fn free(&self, range: AddressRange) -> Result<(), CudaError> {
        // SAFETY: the range is idle, or its library frees it.
        checked(unsafe { (self.mem_address_free)(range.address.0, range.bytes as usize) })
    }
}

impl Access {
    /// The `count` structures at `accesses`; `None` if that is null.
    ///
    /// # Safety
    ///
    /// `accesses` is null or points to `count` structures `CUmemAccessDesc`, which outlive `'a`. Each has 12 bytes; [`Access`] has the same
    /// size and no alignment.
    pub const unsafe fn slice<'a>(accesses: *const Self, count: usize) -> Option<&'a [Self]> {
        if accesses.is_null() {
            return None;
        }
        // SAFETY: the pointer is not null, so the caller guarantees that `count` structures can be read.
        Some(unsafe { slice::from_raw_parts(accesses, count) })
    }
}

/// Converts a `CUresult`.
pub const fn checked(code: c_int) -> Result<(), CudaError> {
    if code == CUDA_SUCCESS { Ok(()) } else { Err(CudaError(code)) }
}
