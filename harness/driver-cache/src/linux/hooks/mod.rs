//! The functions that are handed out in place of the CUDA driver's.
//!
//! # Contract
//!
//! Every hook stands in for one driver function and keeps to the following. The `# Safety` section of each hook states only
//! what it adds.
//!
//! * **Signature.** A hook has the C signature that `cuda.h` declares for the function in whose place it stands, in the
//!   version that the lookup asked for. Opaque handles (`CUstream`, `CUevent`, `CUcontext`, `CUmemoryPool`) are passed as
//!   pointers or words and never dereferenced.
//! * **Caller.** The CUDA runtime inside an attached library, on any of its threads, through an address that `dlsym` or
//!   `cuGetProcAddress` returned to it. The caller upholds the contract of the driver function; a hook relies on nothing
//!   more. Hooks are never called by this crate.
//! * **Handed out last.** A hook is handed out only after the driver's own function was found, and a hook for memory or events
//!   only after every function of [`DriverApi`](super::driver_api::DriverApi) was found in the same library. So its calls reach
//!   the driver that the library looked up.
//! * **Invalid arguments.** A hook writes through a pointer only if the pointer is not null. A call with a null pointer where
//!   the driver writes is passed on unchanged, so that the driver's own error is returned.
//! * **Errors.** Errors of the driver are returned unchanged. A panic would abort the process at the `extern "C"` boundary,
//!   so hooks use no operation that panics on an argument, and locks recover from poisoning.

mod allocation;
mod attribute;
mod event;
pub mod lookup;
mod poison;
mod virtual_memory;
