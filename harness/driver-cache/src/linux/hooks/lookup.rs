//! The hooks for `dlsym` and `cuGetProcAddress`, which find the other hooks.
//!
//! A CUDA runtime opens `libcuda.so.1` and looks up `cuGetProcAddress` through `dlsym`, and every other function through
//! `cuGetProcAddress`; runtimes older than CUDA 11.3 use `dlsym` alone. Both ways return a hook for each function that has one,
//! and the driver's own function otherwise.
#![expect(unsafe_code, reason = "functions with the CUDA driver's signatures are handed out in its place")]

use std::{
    arch::naked_asm,
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    io,
    mem::transmute,
    ptr,
};

use twinfer_case::MemoryMode;

use super::{
    allocation::{
        MEM_ALLOC, MEM_ALLOC_ASYNC, MEM_FREE, MEM_FREE_ASYNC, MEM_FREE_HOST, MEM_GET_INFO, MEM_HOST_ALLOC,
    },
    attribute::DEVICE_GET_ATTRIBUTE,
    event::{EVENT_CREATE, EVENT_SYNCHRONIZE},
    poison,
    virtual_memory::{
        MEM_ADDRESS_FREE, MEM_ADDRESS_RESERVE, MEM_CREATE, MEM_MAP, MEM_RELEASE, MEM_RETAIN, MEM_SET_ACCESS,
        MEM_UNMAP,
    },
};
use crate::{
    linux::{driver_api::CUDA_SUCCESS, got_slot::GotSlot, hook::Hook},
    process_mode,
};

/// The CUDA version since which `cuGetProcAddress` names `cuGetProcAddress_v2` (cudaTypedefs.h).
const SECOND_VERSION: c_int = 12_000;
/// The CUDA version since which `cuMemAlloc` and others name their `_v2` functions, whose addresses have 64 bits.
const WIDE_VERSION: c_int = 3_020;

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`: functions that take a stream are to mean that of the calling thread by null.
const PER_THREAD_DEFAULT_STREAM: u64 = 2;

/// Redirects the library that owns `slot`, the slot of its `dlsym`.
pub fn redirect(slot: &GotSlot) -> io::Result<()> {
    // SAFETY: the hook has the signature of the C library's `dlsym` and returns the same addresses, or those of hooks of the
    // same signature and behavior.
    unsafe { slot.replace(dlsym as Dlsym as *mut ()) }
}

/// The addresses that a filled slot of `dlsym` may hold: the C library's function, and the hook.
pub fn known_addresses() -> [*const (); 2] {
    [libc::dlsym as *const (), dlsym as Dlsym as *const ()]
}

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
type GetProcAddress = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64) -> c_int;
type GetProcAddressV2 =
    unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut c_uint) -> c_int;

static GET_PROC_ADDRESS: Hook = Hook::new(get_proc_address as GetProcAddress as *mut c_void);
static GET_PROC_ADDRESS_V2: Hook = Hook::new(get_proc_address_v2 as GetProcAddressV2 as *mut c_void);

/// `dlsym`, for a library whose slot holds this address.
///
/// For a function without a hook it restores registers and stack and jumps to the C library's `dlsym`, which reads its return
/// address to determine the search order of `RTLD_DEFAULT` and `RTLD_NEXT`. A failed lookup does so too, so that `dlerror`
/// reports it.
///
/// # Safety
///
/// As `dlsym`: `handle` is a handle of `dlopen` or one of the special values, `name` ends with a zero. The function is called
/// through the slot that [`redirect`] wrote, with the System V calling convention: `rdi` and `rsi` are the arguments, the stack
/// is aligned to 16 bytes before the call, and only caller-saved registers may change.
#[unsafe(naked)]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "endbr64",
        // saves both arguments and aligns the stack to 16 bytes
        "sub rsp, 24",
        ".cfi_adjust_cfa_offset 24",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "call {find_hook}",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "add rsp, 24",
        ".cfi_adjust_cfa_offset -24",
        "test rax, rax",
        "jz 2f",
        "ret",
        "2:",
        "jmp qword ptr [rip + {dlsym}@GOTPCREL]",
        ".cfi_endproc",
        find_hook = sym find_hook,
        dlsym = sym libc::dlsym,
    )
}

/// Returns the hook for `name`; null if the C library is to answer.
///
/// # Safety
///
/// As `dlsym`. It is called only by the hook for `dlsym`, with the arguments of its caller.
unsafe extern "C" fn find_hook(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    if name.is_null() || handle == libc::RTLD_DEFAULT || handle == libc::RTLD_NEXT {
        return ptr::null_mut();
    }
    // SAFETY: the caller of `dlsym` passes a string that ends with a zero.
    match hook(unsafe { CStr::from_ptr(name) }.to_bytes()) {
        // SAFETY: the arguments of the caller of `dlsym`.
        Some(hook) => hook.resolve(unsafe { libc::dlsym(handle, name) }),
        None => ptr::null_mut(),
    }
}

/// Returns the hook for the driver's function that is exported under `symbol`, in the mode of this process; `None` if it has none.
fn hook(symbol: &[u8]) -> Option<&'static Hook> {
    match symbol {
        b"cuGetProcAddress" => Some(&GET_PROC_ADDRESS),
        b"cuGetProcAddress_v2" => Some(&GET_PROC_ADDRESS_V2),
        b"cuDeviceGetAttribute" => Some(&DEVICE_GET_ATTRIBUTE),
        _ => match process_mode::get()? {
            MemoryMode::Off | MemoryMode::Attributes => None,
            MemoryMode::Keep => hook_that_keeps(symbol),
            MemoryMode::Poison(_) => poison::hook(symbol),
        },
    }
}

/// Returns the hook that keeps memory or polls events.
fn hook_that_keeps(symbol: &[u8]) -> Option<&'static Hook> {
    Some(match symbol {
        b"cuEventCreate" => &EVENT_CREATE,
        b"cuEventSynchronize" => &EVENT_SYNCHRONIZE,
        b"cuMemAlloc_v2" => &MEM_ALLOC,
        b"cuMemFree_v2" => &MEM_FREE,
        b"cuMemGetInfo_v2" => &MEM_GET_INFO,
        b"cuMemAllocAsync" => &MEM_ALLOC_ASYNC,
        b"cuMemFreeAsync" => &MEM_FREE_ASYNC,
        b"cuMemHostAlloc" => &MEM_HOST_ALLOC,
        b"cuMemFreeHost" => &MEM_FREE_HOST,
        b"cuMemAddressReserve" => &MEM_ADDRESS_RESERVE,
        b"cuMemAddressFree" => &MEM_ADDRESS_FREE,
        b"cuMemCreate" => &MEM_CREATE,
        b"cuMemRetainAllocationHandle" => &MEM_RETAIN,
        b"cuMemRelease" => &MEM_RELEASE,
        b"cuMemMap" => &MEM_MAP,
        b"cuMemSetAccess" => &MEM_SET_ACCESS,
        b"cuMemUnmap" => &MEM_UNMAP,
        _ => return None,
    })
}

/// `cuGetProcAddress` of CUDA 11.3 to 11.8.
///
/// # Safety
///
/// As that function: `symbol` is null or ends with a zero, `function` is null or valid for a write of one pointer.
unsafe extern "C" fn get_proc_address(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: u64,
) -> c_int {
    // SAFETY: the hook was handed out in place of a function of this name, whose address it holds.
    let original = unsafe { transmute::<*mut c_void, GetProcAddress>(GET_PROC_ADDRESS.original()) };
    // SAFETY: the caller's own arguments.
    let code = unsafe { original(symbol, function, version, flags) };
    // SAFETY: the arguments with which the driver returned `code`.
    unsafe { substitute(code, symbol, function, version, flags) };
    code
}

/// `cuGetProcAddress_v2`, the `cuGetProcAddress` of CUDA 12 and later.
///
/// # Safety
///
/// As [`get_proc_address`]; `status` is null or valid for a write of one enumerator, and only passed on.
unsafe extern "C" fn get_proc_address_v2(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: u64,
    status: *mut c_uint,
) -> c_int {
    // SAFETY: the hook was handed out in place of a function of this name, whose address it holds.
    let original = unsafe { transmute::<*mut c_void, GetProcAddressV2>(GET_PROC_ADDRESS_V2.original()) };
    // SAFETY: the caller's own arguments.
    let code = unsafe { original(symbol, function, version, flags, status) };
    // SAFETY: the arguments with which the driver returned `code`.
    unsafe { substitute(code, symbol, function, version, flags) };
    code
}

/// Replaces the function that the driver has just found with its hook, if it has one for these flags.
///
/// # Safety
///
/// The arguments are those with which the driver's `cuGetProcAddress` returned `code`.
unsafe fn substitute(
    code: c_int,
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: u64,
) {
    if code != CUDA_SUCCESS || symbol.is_null() || function.is_null() {
        return;
    }
    // SAFETY: the driver succeeded, so it has read the same string.
    let name = unsafe { CStr::from_ptr(symbol) }.to_bytes();
    let symbol: &[u8] = match name {
        // the driver has found the function for the default stream of each thread, which is not the one that the hook calls
        b"cuMemAllocAsync" | b"cuMemFreeAsync" | b"cuMemAllocFromPoolAsync"
            if flags & PER_THREAD_DEFAULT_STREAM != 0 =>
        {
            return;
        }
        b"cuGetProcAddress" if version >= SECOND_VERSION => b"cuGetProcAddress_v2",
        b"cuMemAlloc" if version >= WIDE_VERSION => b"cuMemAlloc_v2",
        b"cuMemFree" if version >= WIDE_VERSION => b"cuMemFree_v2",
        b"cuMemGetInfo" if version >= WIDE_VERSION => b"cuMemGetInfo_v2",
        b"cuMemAllocHost" if version >= WIDE_VERSION => b"cuMemAllocHost_v2",
        b"cuMemGetAddressRange" if version >= WIDE_VERSION => b"cuMemGetAddressRange_v2",
        name => name,
    };
    if let Some(hook) = hook(symbol) {
        // SAFETY: the driver succeeded, so it has written a pointer there.
        unsafe { *function = hook.resolve(*function) };
    }
}
