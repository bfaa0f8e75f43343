//! Entries of a loaded library's global offset table (GOT): the addresses of the functions that it imports.
#![expect(unsafe_code, reason = "a loaded library's memory is written")]

use std::{
    ffi::CString,
    io,
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use super::{elf_imports::imports_of, process_map::Mapping};
use crate::AttachError;

/// The page size of x86-64 in bytes.
const PAGE: u64 = 4096;

/// The word that holds the address of one imported function, in a library that stays loaded until the process ends.
pub struct GotSlot {
    address: u64,
    writable: bool,
}

impl GotSlot {
    /// Finds the slots of the function `name` in the loaded library whose file is `path`, and keeps the library loaded from now on.
    ///
    /// Each slot must hold one of `expected`, or an address in the library itself, which a lazily bound slot holds until the
    /// function is called for the first time.
    pub fn all(path: &Path, name: &'static str, expected: &[*const ()]) -> Result<Vec<Self>, AttachError> {
        let path = path.canonicalize()?;
        keep_loaded(&path)?;
        let imports = imports_of(&path, name)?;
        if imports.slots.is_empty() {
            return Err(AttachError::NotImported(name));
        }
        let mappings: Vec<_> = Mapping::all()?.into_iter().filter(|mapping| mapping.is_of(&path)).collect();
        let start = mappings.iter().find(|mapping| mapping.offset == 0).ok_or(AttachError::NotLoaded)?;
        let base = start.addresses.start.wrapping_sub(imports.first);
        let locate = |virtual_address: &u64| {
            let slot = Self::locate(base.wrapping_add(*virtual_address), &mappings)?;
            let target = slot.word().load(Ordering::Acquire).cast_const();
            let is_lazy = containing(&mappings, target.addr() as u64).is_some();
            if is_lazy || expected.contains(&target) { Ok(slot) } else { Err(AttachError::Replaced(name)) }
        };
        imports.slots.iter().map(locate).collect()
    }

    /// The slot at an address that lies in one of the library's mappings.
    fn locate(address: u64, mappings: &[Mapping]) -> Result<Self, AttachError> {
        let mapping = containing(mappings, address).filter(|_| address.is_multiple_of(8));
        let mapping = mapping.ok_or(AttachError::NotLoaded)?;
        Ok(Self { address, writable: mapping.writable })
    }

    /// Redirects the library's calls of the imported function to `function` from now on.
    ///
    /// # Safety
    ///
    /// `function` has the signature of the imported function and fulfills its contract towards the library.
    pub unsafe fn replace(&self, function: *mut ()) -> io::Result<()> {
        if self.writable {
            self.word().store(function, Ordering::Release);
            return Ok(());
        }
        self.protect(libc::PROT_READ | libc::PROT_WRITE)?;
        self.word().store(function, Ordering::Release);
        self.protect(libc::PROT_READ)
    }

    /// The slot itself, to be written only while its page is writable.
    fn word(&self) -> &AtomicPtr<()> {
        let word = ptr::with_exposed_provenance_mut::<*mut ()>(self.address as usize);
        // SAFETY: the word is aligned and lies in a mapping of a library that is never unloaded. According to the library's
        // file it holds the address of the function and nothing else. The library and the loader access it as one word too, so
        // a concurrent call reaches either function.
        unsafe { AtomicPtr::from_ptr(word) }
    }

    fn protect(&self, protection: i32) -> io::Result<()> {
        let page = ptr::with_exposed_provenance_mut((self.address / PAGE * PAGE) as usize);
        // SAFETY: the page belongs to the library's global offset table, which the loader wrote and then made read-only.
        // Nothing relies on writes to it failing.
        let result = unsafe { libc::mprotect(page, PAGE as usize, protection) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

fn containing(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    mappings.iter().find(|mapping| mapping.addresses.contains(&address))
}

/// Keeps the library loaded until the process ends; an error if it is not loaded.
fn keep_loaded(path: &Path) -> Result<(), AttachError> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)?;
    // SAFETY: the path ends with a zero; with RTLD_NOLOAD nothing is loaded, so no initializer runs.
    let handle =
        unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) };
    if handle.is_null() { Err(AttachError::NotLoaded) } else { Ok(()) }
}

/// Loads the library that the dynamic loader finds under `name`, until the process ends.
pub fn load(name: &str) -> Result<(), AttachError> {
    let name = CString::new(name).map_err(io::Error::other)?;
    // SAFETY: the name ends with a zero. The initializers that run are those of a CUDA library that the caller's backend is
    // about to load under the same name, in the same thread.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NODELETE) };
    if handle.is_null() { Err(AttachError::NotFound) } else { Ok(()) }
}
