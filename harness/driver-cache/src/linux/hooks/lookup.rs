//! What a library finds when it looks the CUDA driver's functions up.
//!
//! A CUDA runtime opens `libcuda.so.1` and asks `dlsym` for `cuGetProcAddress`, and that one for everything else; one
//! of before CUDA 11.3 asks `dlsym` alone. Whichever way it asks for a function that we stand in for, it gets ours; everything
//! else it gets as it is.
#![expect(unsafe_code, reason = "functions with the CUDA driver's signatures are handed out in its place")]

use std::{
    arch::naked_asm,
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    io,
    mem::transmute,
    ptr,
};

use super::super::{
    got_slot::Slot,
    hook::{CUDA_SUCCESS, Function},
};
use super::{
    allocation::{
        MEM_ALLOC, MEM_ALLOC_ASYNC, MEM_FREE, MEM_FREE_ASYNC, MEM_FREE_HOST, MEM_GET_INFO, MEM_HOST_ALLOC,
    },
    attribute::DEVICE_GET_ATTRIBUTE,
    event::{EVENT_CREATE, EVENT_SYNCHRONIZE},
    virtual_memory::{
        MEM_ADDRESS_FREE, MEM_ADDRESS_RESERVE, MEM_CREATE, MEM_MAP, MEM_RELEASE, MEM_RETAIN, MEM_SET_ACCESS,
        MEM_UNMAP,
    },
};

/// From this version on `cuGetProcAddress` is the name of `cuGetProcAddress_v2` (cudaTypedefs.h).
const SECOND_VERSION: c_int = 12_000;
/// From this version on `cuMemAlloc` is the name of `cuMemAlloc_v2`, and so of the others, whose addresses have 64 bits.
const WIDE_VERSION: c_int = 3_020;

/// Lets the library that `slot` belongs to, one for its `dlsym`, find the cache in the driver's place.
pub fn redirect(slot: &Slot) -> io::Result<()> {
    // SAFETY: our `dlsym` has the signature of the C library's and finds the same functions, or ones of the same
    // signature that answer as those would.
    unsafe { slot.replace(dlsym as Dlsym as *mut ()) }
}

/// What may be found in such a slot once the dynamic loader has filled it: the C library's `dlsym`, and ours.
pub fn known_functions() -> [*const (); 2] {
    [libc::dlsym as *const (), dlsym as Dlsym as *const ()]
}

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
type GetProcAddress = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64) -> c_int;
type GetProcAddressV2 =
    unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut c_uint) -> c_int;

static GET_PROC_ADDRESS: Function = Function::new(get_proc_address as GetProcAddress as *mut c_void);
static GET_PROC_ADDRESS_V2: Function = Function::new(get_proc_address_v2 as GetProcAddressV2 as *mut c_void);

/// `dlsym` for a library whose slot holds this function.
///
/// Unless it is asked for a function that we stand in for, it leaves registers and stack as it found them and jumps to
/// the C library's `dlsym`, which looks at its return address to know whose search order `RTLD_DEFAULT` and `RTLD_NEXT`
/// mean. So does a lookup that fails, whose message `dlerror` gives.
///
/// # Safety
///
/// As of `dlsym` itself.
#[unsafe(naked)]
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        "endbr64",
        // both arguments, and the stack aligned to 16 bytes for the call
        "sub rsp, 24",
        ".cfi_adjust_cfa_offset 24",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "call {replacement}",
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
        replacement = sym replacement,
        dlsym = sym libc::dlsym,
    )
}

/// What `dlsym` answers instead of the C library; null where that one is to answer.
///
/// # Safety
///
/// As of `dlsym`.
unsafe extern "C" fn replacement(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    if name.is_null() || handle == libc::RTLD_DEFAULT || handle == libc::RTLD_NEXT {
        return ptr::null_mut();
    }
    // SAFETY: the caller of `dlsym` gives a string that ends with a zero.
    let function = match unsafe { CStr::from_ptr(name) }.to_bytes() {
        b"cuGetProcAddress" => &GET_PROC_ADDRESS,
        b"cuGetProcAddress_v2" => &GET_PROC_ADDRESS_V2,
        b"cuMemAlloc_v2" => &MEM_ALLOC,
        b"cuMemFree_v2" => &MEM_FREE,
        b"cuMemGetInfo_v2" => &MEM_GET_INFO,
        name => match of_all_versions(name) {
            Some(function) => function,
            None => return ptr::null_mut(),
        },
    };
    // SAFETY: these are the arguments that the caller of `dlsym` gave.
    function.in_place_of(unsafe { libc::dlsym(handle, name) })
}

/// What stands in for a function that has one name in all versions of CUDA.
fn of_all_versions(name: &[u8]) -> Option<&'static Function> {
    Some(match name {
        b"cuDeviceGetAttribute" => &DEVICE_GET_ATTRIBUTE,
        b"cuEventCreate" => &EVENT_CREATE,
        b"cuEventSynchronize" => &EVENT_SYNCHRONIZE,
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
unsafe extern "C" fn get_proc_address(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: u64,
) -> c_int {
    // SAFETY: this is the driver's function of that name, looked up before this one was handed out.
    let drivers = unsafe { transmute::<*mut c_void, GetProcAddress>(GET_PROC_ADDRESS.drivers()) };
    // SAFETY: these are the caller's arguments.
    let code = unsafe { drivers(symbol, function, version, flags) };
    // SAFETY: likewise.
    unsafe { exchange(code, symbol, function, version) };
    code
}

/// `cuGetProcAddress` of CUDA 12 and later.
unsafe extern "C" fn get_proc_address_v2(
    symbol: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: u64,
    status: *mut c_uint,
) -> c_int {
    // SAFETY: this is the driver's function of that name, looked up before this one was handed out.
    let drivers = unsafe { transmute::<*mut c_void, GetProcAddressV2>(GET_PROC_ADDRESS_V2.drivers()) };
    // SAFETY: these are the caller's arguments.
    let code = unsafe { drivers(symbol, function, version, flags, status) };
    // SAFETY: likewise.
    unsafe { exchange(code, symbol, function, version) };
    code
}

/// Puts ours in place of a function that the driver just found.
///
/// # Safety
///
/// The arguments are those with which `cuGetProcAddress` answered `code`.
unsafe fn exchange(code: c_int, symbol: *const c_char, function: *mut *mut c_void, version: c_int) {
    if code != CUDA_SUCCESS || symbol.is_null() || function.is_null() {
        return;
    }
    // SAFETY: the driver has just read the same string.
    let ours = match unsafe { CStr::from_ptr(symbol) }.to_bytes() {
        b"cuGetProcAddress" if version < SECOND_VERSION => &GET_PROC_ADDRESS,
        b"cuGetProcAddress" => &GET_PROC_ADDRESS_V2,
        b"cuMemAlloc" if version >= WIDE_VERSION => &MEM_ALLOC,
        b"cuMemFree" if version >= WIDE_VERSION => &MEM_FREE,
        b"cuMemGetInfo" if version >= WIDE_VERSION => &MEM_GET_INFO,
        name => match of_all_versions(name) {
            Some(function) => function,
            None => return,
        },
    };
    // SAFETY: the driver has just written a pointer there.
    unsafe { *function = ours.in_place_of(*function) };
}
