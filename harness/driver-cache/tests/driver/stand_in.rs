//! A safe interface to the stand-ins, which are compiled and loaded here.
#![expect(
    unsafe_code,
    clippy::undocumented_unsafe_blocks,
    reason = "every function is called with the types that the C sources declare; nothing is unloaded while in use"
)]

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    mem::transmute,
    path::{Path, PathBuf},
    process::Command,
    ptr,
    sync::LazyLock,
};

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL, RTLD_NOW};
use tempfile::TempDir;
use twinfer_case::MemoryMode;
use twinfer_driver_cache::attach;

/// The folder of this process's stand-ins. It holds the one driver of the process.
pub static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    compile("driver.c", &folder.path().join(DRIVER), &[]);
    folder
});

pub const DRIVER: &str = "libcuda.so.1";
pub const ATTRIBUTE: &CStr = c"cuDeviceGetAttribute";
/// Flags for a library whose slots the loader fills at the first call.
pub const LAZY: [&str; 2] = ["-DWHO=1", "-Wl,-z,lazy"];
/// Flags for a library whose slots the loader fills at once and then makes read-only.
pub const READ_ONLY_SLOTS: [&str; 3] = ["-DWHO=1", "-Wl,-z,now", "-Wl,-z,relro"];

/// Compiles a shared object from a source beside this file.
pub fn compile(source: &str, to: &Path, flags: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver").join(source);
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-O2", "-Wall", "-Werror"]).args(flags).arg("-o").args([to, &source]);
    assert!(cc.arg("-ldl").status().unwrap().success());
}

/// Loads a library as TensorRT is loaded, until the result is dropped.
pub fn load(path: &Path) -> Library {
    unsafe { Library::open(Some(path), RTLD_LAZY | RTLD_LOCAL) }.unwrap()
}

/// As [`load`]; the library prefers the libraries that it links over those that the process has loaded.
pub fn load_with_deep_binding(path: &Path) -> Library {
    unsafe { Library::open(Some(path), RTLD_LAZY | RTLD_LOCAL | libc::RTLD_DEEPBIND) }.unwrap()
}

/// The address of a function.
pub type Function = *mut c_void;

/// A library that contains a runtime. Each test compiles its own, because a rewritten slot stays rewritten.
pub struct Runtime {
    pub path: PathBuf,
    library: Library,
}

impl Runtime {
    /// Compiles and loads a library that has not looked up anything yet, and has it open the stand-in.
    pub fn load(name: &str, flags: &[&str]) -> Self {
        let path = FOLDER.path().join(format!("lib{name}.so"));
        compile("runtime.c", &path, flags);
        Self::open(path, &FOLDER.path().join(DRIVER))
    }

    /// Loads a library that was compiled from `runtime.c` and has it open a driver.
    pub fn open(path: PathBuf, driver: &Path) -> Self {
        let runtime = Self { library: load(&path), path };
        let driver = CString::new(driver.to_str().unwrap()).unwrap();
        let open = runtime.function::<unsafe extern "C" fn(*const c_char) -> c_int>("open_driver");
        assert_eq!(unsafe { open(driver.as_ptr()) }, 1);
        runtime
    }

    /// As [`load`](Self::load), attached to the cache.
    pub fn attached(name: &str, flags: &[&str]) -> Self {
        let runtime = Self::load(name, flags);
        attach(&runtime.path, MemoryMode::Keep).unwrap();
        runtime
    }

    fn function<F: Copy>(&self, name: &str) -> F {
        unsafe { *self.library.get::<F>(name).unwrap() }
    }

    /// What `dlsym` of the driver finds.
    pub fn by_name(&self, name: &CStr) -> Function {
        let find = self.function::<unsafe extern "C" fn(*const c_char) -> Function>("by_name");
        unsafe { find(name.as_ptr()) }
    }

    /// What `cuGetProcAddress`, `by_first`, or its second version, `by_second`, finds.
    pub fn by_version(&self, way: &str, name: &CStr, version: c_int) -> Function {
        let find = self.function::<unsafe extern "C" fn(*const c_char, c_int) -> Function>(way);
        unsafe { find(name.as_ptr(), version) }
    }

    /// What each kind of lookup finds for `cuDeviceGetAttribute`.
    pub fn ways(&self) -> [Function; 3] {
        [
            self.by_name(ATTRIBUTE),
            self.by_version("by_first", ATTRIBUTE, 11_080),
            self.by_version("by_second", ATTRIBUTE, 12_000),
        ]
    }

    /// The answer of a `cuDeviceGetAttribute`, or its code.
    pub fn ask(&self, function: Function, attribute: c_int, device: c_int) -> Result<c_int, c_int> {
        type Ask = unsafe extern "C" fn(Function, *mut c_int, c_int, c_int) -> c_int;
        let mut answer = -7;
        match unsafe { self.function::<Ask>("ask")(function, &raw mut answer, attribute, device) } {
            0 => Ok(answer),
            code => Err(code),
        }
    }

    /// The address that a `cuMemAlloc` returns, or its code.
    pub fn allocate(&self, function: Function, bytes: u64) -> Result<u64, c_int> {
        type Allocate = unsafe extern "C" fn(Function, *mut u64, u64) -> c_int;
        let mut address = 0;
        match unsafe { self.function::<Allocate>("allocate")(function, &raw mut address, bytes) } {
            0 => Ok(address),
            code => Err(code),
        }
    }

    /// The code of a `cuMemFree`.
    pub fn free(&self, function: Function, address: u64) -> c_int {
        unsafe { self.function::<unsafe extern "C" fn(Function, u64) -> c_int>("release")(function, address) }
    }

    /// The code of a `cuMemFreeAsync` on the stream of this number.
    pub fn free_async(&self, function: Function, address: u64, stream: usize) -> c_int {
        type Release = unsafe extern "C" fn(Function, u64, *mut c_void) -> c_int;
        unsafe { self.function::<Release>("release_on")(function, address, stream as *mut c_void) }
    }

    /// The code of any function that takes five words or fewer.
    pub fn call(&self, function: Function, words: [u64; 5]) -> c_int {
        type Call = unsafe extern "C" fn(Function, u64, u64, u64, u64, u64) -> c_int;
        let call = self.function::<Call>("call");
        unsafe { call(function, words[0], words[1], words[2], words[3], words[4]) }
    }

    /// The number of the library whose function `who` a search of `RTLD_DEFAULT` finds first.
    pub fn who_by_default(&self) -> c_int {
        unsafe { self.function::<unsafe extern "C" fn() -> c_int>("who_by_default")() }
    }

    /// What a search of `RTLD_NEXT` finds.
    pub fn next(&self, name: &CStr) -> Function {
        unsafe { self.function::<unsafe extern "C" fn(*const c_char) -> Function>("next")(name.as_ptr()) }
    }

    /// The message of `dlerror` after a lookup in the driver.
    pub fn failure(&self, name: &CStr) -> String {
        let failure = self.function::<unsafe extern "C" fn(*const c_char) -> *const c_char>("failure");
        unsafe { CStr::from_ptr(failure(name.as_ptr())) }.to_str().unwrap().to_owned()
    }
}

/// The code of a `cuDeviceGetAttribute` with a null pointer for its answer.
pub fn ask_with_null_pointer(function: Function) -> c_int {
    type Attribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
    unsafe { transmute::<Function, Attribute>(function)(ptr::null_mut(), 1, 0) }
}

/// Writes a byte of an allocated block and returns the one that was there.
pub fn replace_byte(address: u64, byte: u8) -> u8 {
    let place = ptr::with_exposed_provenance_mut::<u8>(address as usize);
    unsafe { place.replace(byte) }
}

/// The stand-in for the driver, called directly.
pub struct Driver(Library);

impl Driver {
    pub fn open() -> Self {
        Self::at(&FOLDER.path().join(DRIVER)).unwrap()
    }

    /// The driver at `path`, which may be a real one; `None` if there is none.
    pub fn at(path: &Path) -> Option<Self> {
        unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.ok().map(Self)
    }

    /// A function of it.
    pub fn function<F: Copy>(&self, name: &str) -> F {
        unsafe { *self.0.get::<F>(name).unwrap() }
    }

    pub fn address(&self, name: &str) -> Function {
        self.function(name)
    }

    /// The number of allocations, releases, asynchronous releases and waits that have reached the driver, of bytes that it has
    /// cleared, and of its calls for free memory and for virtual memory.
    pub fn memory_calls(&self) -> [c_int; 7] {
        let calls = self.function::<unsafe extern "C" fn(c_int) -> c_int>("memory_calls");
        [0, 1, 2, 3, 4, 5, 6].map(|which| unsafe { calls(which) })
    }

    /// The release threshold of its pool in bytes.
    pub fn pool_threshold(&self) -> u64 {
        unsafe { self.0.get::<unsafe extern "C" fn() -> u64>("pool_threshold").unwrap()() }
    }

    /// Limits the number of further allocations; each release makes room for one more.
    pub fn set_room(&self, allocations: u64) {
        unsafe { self.0.get::<unsafe extern "C" fn(u64)>("set_room").unwrap()(allocations) }
    }

    /// The number of requests for attributes that have reached the driver.
    pub fn asked(&self) -> c_int {
        self.number("asked")
    }

    /// The value of its counter or state with this name.
    pub fn number(&self, name: &str) -> c_int {
        unsafe { self.0.get::<unsafe extern "C" fn() -> c_int>(name).unwrap()() }
    }
}
