//! The driver's functions that ours need.
#![expect(unsafe_code, reason = "functions of the CUDA driver are called")]

use std::{
    ffi::{CStr, c_int, c_uchar, c_uint, c_void},
    mem::{MaybeUninit, transmute},
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::hook::CUDA_SUCCESS;
use crate::{
    CudaError,
    blocks::{self as memory, Address, Context, MEMORY, MOST_IDLE, OUT_OF_MEMORY, Space},
    free_memory::Info,
    virtual_memory::{self as ranges, Access, Handle, Mapping, Properties, RANGES, Range},
};

pub type MemAlloc = unsafe extern "C" fn(*mut u64, usize) -> c_int;
pub type MemFree = unsafe extern "C" fn(u64) -> c_int;
pub type MemAllocAsync = unsafe extern "C" fn(*mut u64, usize, *mut c_void) -> c_int;
pub type MemFreeAsync = unsafe extern "C" fn(u64, *mut c_void) -> c_int;
pub type MemHostAlloc = unsafe extern "C" fn(*mut *mut c_void, usize, c_uint) -> c_int;
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
type CtxGetCurrent = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type CtxGetDevice = unsafe extern "C" fn(*mut c_int) -> c_int;
type CtxSynchronize = unsafe extern "C" fn() -> c_int;
type DeviceGetMemPool = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
type MemPoolAttribute = unsafe extern "C" fn(*mut c_void, c_int, *mut u64) -> c_int;

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`: how many bytes a pool keeps when it is synchronized with.
const RELEASE_THRESHOLD: c_int = 4;

macro_rules! functions {
    ($($field:ident: $signature:ty = $name:literal,)*) => {
        /// The driver's functions, of one library.
        pub struct Functions {
            $(pub $field: $signature,)*
        }

        impl Functions {
            /// What `find` finds; none where it lacks one.
            ///
            /// # Safety
            ///
            /// What is found are functions of the CUDA driver, which have the signatures of its header.
            unsafe fn found(find: impl Fn(&CStr) -> Option<*mut c_void>) -> Option<Self> {
                // SAFETY: the signatures above are those of the header.
                Some(unsafe { Self { $($field: transmute::<*mut c_void, $signature>(find($name)?),)* } })
            }
        }
    };
}

functions! {
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
    memset_d8: MemsetD8 = c"cuMemsetD8_v2",
    memset_d8_async: MemsetD8Async = c"cuMemsetD8Async",
    ctx_get_current: CtxGetCurrent = c"cuCtxGetCurrent",
    ctx_get_device: CtxGetDevice = c"cuCtxGetDevice",
    ctx_synchronize: CtxSynchronize = c"cuCtxSynchronize",
    device_get_mem_pool: DeviceGetMemPool = c"cuDeviceGetMemPool",
    mem_pool_get_attribute: MemPoolAttribute = c"cuMemPoolGetAttribute",
    mem_pool_set_attribute: MemPoolAttribute = c"cuMemPoolSetAttribute",
}

/// Those of the driver of this process; none before they are needed, or where it lacks one.
static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();

impl Functions {
    /// Those of the driver of this process, which has `function`.
    pub fn beside(function: *const c_void) -> Option<&'static Self> {
        FUNCTIONS.get_or_init(|| Self::of_library(function)).as_ref()
    }

    /// Those that were found.
    pub fn get() -> Option<&'static Self> {
        FUNCTIONS.get()?.as_ref()
    }

    fn of_library(function: *const c_void) -> Option<Self> {
        let mut found = MaybeUninit::<libc::Dl_info>::uninit();
        // SAFETY: any address may be asked for; where one is found the structure is filled.
        let path = unsafe {
            if libc::dladdr(function, found.as_mut_ptr()) == 0 {
                return None;
            }
            found.assume_init().dli_fname
        };
        // SAFETY: the dynamic loader's own name of a library that is loaded, which is not loaded again.
        let library = unsafe { libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if library.is_null() {
            return None;
        }
        let find = |name: &CStr| {
            // SAFETY: the handle was just opened and is never closed.
            let found = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!found.is_null()).then_some(found)
        };
        // SAFETY: the library is the driver, which has functions of these names.
        unsafe { Self::found(find) }
    }

    /// Device memory of the driver's pool, which keeps it from now on, and is zero.
    ///
    /// # Safety
    ///
    /// As of `cuMemAllocAsync`.
    pub unsafe fn allocate_on(
        &self,
        address: *mut u64,
        bytes: usize,
        stream: *mut c_void,
    ) -> Result<(), CudaError> {
        self.keep_pool();
        // SAFETY: these are the caller's arguments.
        self.with_room(|| checked(unsafe { (self.mem_alloc_async)(address, bytes, stream) }))?;
        // SAFETY: the driver has just written an address there.
        let found = unsafe { address.read() };
        // SAFETY: the block has that many bytes for what this stream is given next.
        checked(unsafe { (self.memset_d8_async)(found, 0, bytes, stream) }).inspect_err(|_| {
            // SAFETY: nobody has the block yet.
            unsafe { (self.mem_free_async)(found, stream) };
        })
    }

    /// Has the pool of the current device keep memory, once, unless it was told to keep some.
    fn keep_pool(&self) {
        static DEVICES: AtomicU64 = AtomicU64::new(0);
        let mut device = 0;
        // SAFETY: the driver writes to a place of our own.
        let code = unsafe { (self.ctx_get_device)(&raw mut device) };
        if code == CUDA_SUCCESS && (0..64).contains(&device) && DEVICES.load(Relaxed) >> device & 1 == 0 {
            DEVICES.fetch_or(u64::from(self.has_pool_keep(device).is_ok()) << device, Relaxed);
        }
    }

    fn has_pool_keep(&self, device: c_int) -> Result<(), CudaError> {
        let (mut pool, mut kept) = (ptr::null_mut(), 0);
        // SAFETY: the driver writes to places of our own; the attribute is a number of 64 bits.
        unsafe {
            checked((self.device_get_mem_pool)(&raw mut pool, device))?;
            checked((self.mem_pool_get_attribute)(pool, RELEASE_THRESHOLD, &raw mut kept))?;
            if kept == 0 {
                kept = MOST_IDLE;
                checked((self.mem_pool_set_attribute)(pool, RELEASE_THRESHOLD, &raw mut kept))?;
            }
        }
        Ok(())
    }

    /// What `ask` gives, for which memory makes room that nobody uses.
    pub fn with_room<T>(&self, ask: impl Fn() -> Result<T, CudaError>) -> Result<T, CudaError> {
        match ask() {
            Err(OUT_OF_MEMORY) => {
                RANGES.give_back(self);
                MEMORY.give_back(self.current()?, self);
                ask()
            }
            asked => asked,
        }
    }

    /// How much memory of the device is free.
    pub fn info(&self) -> Result<Info, CudaError> {
        let mut info = Info { free: 0, total: 0 };
        // SAFETY: the driver writes to places of our own.
        checked(unsafe { (self.mem_get_info)(&raw mut info.free, &raw mut info.total) }).map(|()| info)
    }

    /// The context that is current.
    pub fn current(&self) -> Result<Context, CudaError> {
        let mut context = ptr::null_mut();
        // SAFETY: the driver writes to a place of our own.
        let code = unsafe { (self.ctx_get_current)(&raw mut context) };
        checked(code).map(|()| Context(context as usize))
    }

    fn wait(&self) -> Result<(), CudaError> {
        // SAFETY: it takes nothing.
        checked(unsafe { (self.ctx_synchronize)() })
    }

    /// Has zeros written, and waits until they are: whoever gets the memory may write to it on any stream.
    fn zero(&self, Range { address, bytes }: Range) -> Result<(), CudaError> {
        // SAFETY: there are that many bytes of the device, and they are nobody's.
        checked(unsafe { (self.memset_d8)(address.0, 0, bytes as usize) })?;
        self.wait()
    }
}

impl memory::Driver for Functions {
    fn context(&self) -> Result<Context, CudaError> {
        self.current()
    }

    fn allocate(&self, space: Space, bytes: u64) -> Result<Address, CudaError> {
        match space {
            Space::Device => {
                let mut address = 0;
                // SAFETY: the driver writes to a place of our own.
                let code = unsafe { (self.mem_alloc)(&raw mut address, bytes as usize) };
                checked(code).map(|()| Address(address))
            }
            Space::Host(flags) => {
                let mut address = ptr::null_mut();
                // SAFETY: the driver writes to a place of our own.
                let code = unsafe { (self.mem_host_alloc)(&raw mut address, bytes as usize, flags) };
                checked(code).map(|()| Address(address.expose_provenance() as u64))
            }
        }
    }

    fn free(&self, space: Space, address: Address) -> Result<(), CudaError> {
        checked(match space {
            // SAFETY: the driver refuses what it did not allocate so; nobody uses what a caller frees or we held idle.
            Space::Device => unsafe { (self.mem_free)(address.0) },
            // SAFETY: likewise.
            Space::Host(_) => unsafe {
                (self.mem_free_host)(ptr::with_exposed_provenance_mut(address.0 as usize))
            },
        })
    }

    fn synchronize(&self) -> Result<(), CudaError> {
        self.wait()
    }

    fn clear(&self, space: Space, address: Address, bytes: u64) -> Result<(), CudaError> {
        match space {
            Space::Device => self.zero(Range { address, bytes }),
            Space::Host(_) => {
                let start = ptr::with_exposed_provenance_mut::<u8>(address.0 as usize);
                // SAFETY: the driver has allocated that many bytes there, and they are nobody's: whoever freed them has
                // been waited for.
                unsafe { start.write_bytes(0, bytes as usize) };
                Ok(())
            }
        }
    }
}

impl ranges::Driver for Functions {
    fn context(&self) -> Result<Context, CudaError> {
        self.current()
    }

    fn synchronize(&self) -> Result<(), CudaError> {
        self.wait()
    }

    fn clear(&self, range: Range) -> Result<(), CudaError> {
        self.zero(range)
    }

    fn reserve(&self, bytes: u64, alignment: u64) -> Result<Address, CudaError> {
        let mut address = 0;
        // SAFETY: the driver writes to a place of our own.
        let code =
            unsafe { (self.mem_address_reserve)(&raw mut address, bytes as usize, alignment as usize, 0, 0) };
        checked(code).map(|()| Address(address))
    }

    fn create(&self, bytes: u64, properties: &Properties) -> Result<Handle, CudaError> {
        let mut handle = 0;
        // SAFETY: the driver writes to a place of our own, and reads properties that a caller gave it.
        let code = unsafe { (self.mem_create)(&raw mut handle, bytes as usize, properties, 0) };
        checked(code).map(|()| Handle(handle))
    }

    fn map(&self, mapping: &Mapping) -> Result<(), CudaError> {
        let Mapping { range, offset, handle, flags } = *mapping;
        // SAFETY: a caller's arguments; what we had mapped there is unmapped.
        checked(unsafe {
            (self.mem_map)(range.address.0, range.bytes as usize, offset as usize, handle.0, flags)
        })
    }

    fn set_access(&self, range: Range, accesses: &[Access]) -> Result<(), CudaError> {
        let (address, bytes) = (range.address.0, range.bytes as usize);
        // SAFETY: a caller's arguments, as many as there are.
        checked(unsafe { (self.mem_set_access)(address, bytes, accesses.as_ptr(), accesses.len()) })
    }

    fn unmap(&self, range: Range) -> Result<(), CudaError> {
        // SAFETY: a caller unmaps it, or it is nobody's.
        checked(unsafe { (self.mem_unmap)(range.address.0, range.bytes as usize) })
    }

    fn release(&self, handle: Handle) -> Result<(), CudaError> {
        // SAFETY: a caller releases it, or it is nobody's.
        checked(unsafe { (self.mem_release)(handle.0) })
    }

    fn free(&self, range: Range) -> Result<(), CudaError> {
        // SAFETY: a caller frees it, or it is nobody's.
        checked(unsafe { (self.mem_address_free)(range.address.0, range.bytes as usize) })
    }
}

pub const fn checked(code: c_int) -> Result<(), CudaError> {
    if code == CUDA_SUCCESS { Ok(()) } else { Err(CudaError(code)) }
}
