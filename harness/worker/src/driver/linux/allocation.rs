//! What stands in for `cuMemAlloc_v2`, `cuMemFree_v2` and `cuMemFreeAsync`.
#![expect(unsafe_code, reason = "functions with the CUDA driver's signatures are handed out in its place")]

use std::{
    ffi::{CStr, c_int, c_uchar, c_void},
    mem::{MaybeUninit, transmute},
    ptr,
    sync::OnceLock,
};

use super::function::{CUDA_SUCCESS, Function};
use crate::driver::{
    CudaError,
    memory::{Address, Context, Driver, MEMORY},
};

type MemAlloc = unsafe extern "C" fn(*mut u64, usize) -> c_int;
type MemFree = unsafe extern "C" fn(u64) -> c_int;
type MemFreeAsync = unsafe extern "C" fn(u64, *mut c_void) -> c_int;
type CtxGetCurrent = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type CtxSynchronize = unsafe extern "C" fn() -> c_int;
type MemsetD8 = unsafe extern "C" fn(u64, c_uchar, usize) -> c_int;

pub static MEM_ALLOC: Function = Function::new(mem_alloc as MemAlloc as *mut c_void);
pub static MEM_FREE: Function = Function::new(mem_free as MemFree as *mut c_void);
pub static MEM_FREE_ASYNC: Function = Function::new(mem_free_async as MemFreeAsync as *mut c_void);

/// The driver's functions, of one library.
struct Functions {
    mem_alloc: MemAlloc,
    mem_free: MemFree,
    ctx_get_current: CtxGetCurrent,
    ctx_synchronize: CtxSynchronize,
    memset_d8: MemsetD8,
}

impl Functions {
    /// Those of the library whose `cuMemAlloc_v2` or `cuMemFree_v2` this is; none where it lacks one.
    fn beside(function: *const c_void) -> Option<Self> {
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
        // SAFETY: these are functions of the CUDA driver, with the signatures of its header.
        unsafe {
            Some(Self {
                mem_alloc: transmute::<*mut c_void, MemAlloc>(find(c"cuMemAlloc_v2")?),
                mem_free: transmute::<*mut c_void, MemFree>(find(c"cuMemFree_v2")?),
                ctx_get_current: transmute::<*mut c_void, CtxGetCurrent>(find(c"cuCtxGetCurrent")?),
                ctx_synchronize: transmute::<*mut c_void, CtxSynchronize>(find(c"cuCtxSynchronize")?),
                memset_d8: transmute::<*mut c_void, MemsetD8>(find(c"cuMemsetD8_v2")?),
            })
        }
    }

    /// Those of the driver of this process.
    fn of_process(function: *const c_void) -> Option<&'static Self> {
        static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();
        FUNCTIONS.get_or_init(|| Self::beside(function)).as_ref()
    }
}

impl Driver for Functions {
    fn context(&self) -> Result<Context, CudaError> {
        let mut context = ptr::null_mut();
        // SAFETY: the driver writes to a place of our own.
        let code = unsafe { (self.ctx_get_current)(&raw mut context) };
        checked(code).map(|()| Context(context as usize))
    }

    fn allocate(&self, bytes: u64) -> Result<Address, CudaError> {
        let mut address = 0;
        // SAFETY: the driver writes to a place of our own.
        let code = unsafe { (self.mem_alloc)(&raw mut address, bytes as usize) };
        checked(code).map(|()| Address(address))
    }

    fn free(&self, address: Address) -> Result<(), CudaError> {
        // SAFETY: the driver refuses what it did not allocate; nobody uses what a caller frees or we held idle.
        checked(unsafe { (self.mem_free)(address.0) })
    }

    fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: it takes nothing.
        checked(unsafe { (self.ctx_synchronize)() })
    }

    fn clear(&self, address: Address, bytes: u64) -> Result<(), CudaError> {
        // SAFETY: the block has that many bytes, and is nobody's.
        checked(unsafe { (self.memset_d8)(address.0, 0, bytes as usize) })
    }
}

const fn checked(code: c_int) -> Result<(), CudaError> {
    if code == CUDA_SUCCESS { Ok(()) } else { Err(CudaError(code)) }
}

/// `cuMemAlloc_v2`, from what was freed.
unsafe extern "C" fn mem_alloc(address: *mut u64, bytes: usize) -> c_int {
    let drivers = MEM_ALLOC.drivers();
    match Functions::of_process(drivers) {
        Some(driver) if !address.is_null() => match MEMORY.allocate(bytes as u64, driver) {
            Ok(Address(found)) => {
                // SAFETY: the caller gives a place for the address, as to the driver.
                unsafe { address.write(found) };
                CUDA_SUCCESS
            }
            Err(CudaError(code)) => code,
        },
        // SAFETY: this is the driver's function, looked up before this one was handed out, with the caller's arguments.
        _ => unsafe { transmute::<*mut c_void, MemAlloc>(drivers)(address, bytes) },
    }
}

/// `cuMemFree_v2`, which keeps it.
unsafe extern "C" fn mem_free(address: u64) -> c_int {
    let drivers = MEM_FREE.drivers();
    match Functions::of_process(drivers) {
        Some(driver) => {
            MEMORY.free(Address(address), driver).map_or_else(|CudaError(code)| code, |()| CUDA_SUCCESS)
        }
        // SAFETY: this is the driver's function, looked up before this one was handed out, with the caller's argument.
        None => unsafe { transmute::<*mut c_void, MemFree>(drivers)(address) },
    }
}

/// `cuMemFreeAsync`, which the driver keeps in pools of its own.
unsafe extern "C" fn mem_free_async(address: u64, stream: *mut c_void) -> c_int {
    match MEMORY.release(Address(address)) {
        // SAFETY: this is the driver's function, looked up before this one was handed out, with the caller's arguments.
        Ok(()) => unsafe {
            transmute::<*mut c_void, MemFreeAsync>(MEM_FREE_ASYNC.drivers())(address, stream)
        },
        Err(CudaError(code)) => code,
    }
}
