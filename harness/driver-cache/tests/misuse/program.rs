//! The program that misuses memory: a process of its own, because a process has one memory mode, and misuse may end its context.
#![expect(
    unsafe_code,
    clippy::undocumented_unsafe_blocks,
    reason = "every function is called with the types that cuda.h declares"
)]

use std::{
    env,
    ffi::{CStr, c_int, c_uint, c_void},
    fmt,
    path::{Path, PathBuf},
    process::Command,
    ptr,
    str::FromStr,
};

use twinfer_case::{MemoryMode, Stage};
use twinfer_driver_cache::{attach, take_out_of_bounds_writes};

use crate::stand_in::{Driver, Function, Runtime};

/// What the program does wrong with a block of 100 floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// It writes the element behind the last one.
    Overrun,
    /// It reads an element that it has not written.
    UninitializedRead,
    /// It reads an element that it has written, of a block that it has freed.
    UseAfterFree,
}

impl Misuse {
    pub const ALL: [Self; 3] = [Self::Overrun, Self::UninitializedRead, Self::UseAfterFree];
}

/// The name of the test that is the program, and the variables that select what it does.
const TEST: &str = "program_misuses_memory_as_its_environment_says";
const MISUSE: &str = "TWINFER_TEST_MISUSE";
const MODE: &str = "TWINFER_TEST_MEMORY";
const DRIVER: &str = "TWINFER_TEST_DRIVER";
const RUNTIME: &str = "TWINFER_TEST_CUDA_RUNTIME";
/// Begins the line that the program prints about what it has noticed.
const NOTICED: &str = "noticed: ";

const ELEMENTS: u64 = 100;
const BYTES: u64 = 4 * ELEMENTS;
const ONE: u64 = 1.0_f32.to_bits() as u64;
const PTX: &CStr = match CStr::from_bytes_with_nul(concat!(include_str!("kernels.ptx"), "\0").as_bytes()) {
    Ok(ptx) => ptx,
    Err(_) => panic!("the kernels contain a zero"),
};

/// The driver and the CUDA runtime that the program uses.
#[derive(Clone, Copy)]
pub struct Libraries<'a> {
    /// The driver, or a stand-in.
    pub driver: &'a Path,
    /// A library that was compiled from `runtime.c`.
    pub runtime: &'a Path,
}

/// The command that runs the program, after the words of `launcher`.
pub fn command(launcher: &[&str], misuse: Misuse, mode: MemoryMode, libraries: Libraries<'_>) -> Command {
    let itself = env::current_exe().unwrap();
    let itself = itself.to_str().unwrap();
    let words: Vec<_> = launcher.iter().chain(&[itself, "--exact", TEST, "--nocapture"]).copied().collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env(MISUSE, misuse.to_string()).env(MODE, mode.to_string());
    command.env(DRIVER, libraries.driver).env(RUNTIME, libraries.runtime);
    command
}

/// Runs the program; what it has noticed.
pub fn notice(misuse: Misuse, mode: MemoryMode, libraries: Libraries<'_>) -> String {
    let output = command(&[], misuse, mode, libraries).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let noticed = text.lines().find_map(|line| line.split_once(NOTICED));
    noticed.unwrap_or_else(|| panic!("{misuse} with memory={mode}: {output:?}")).1.to_owned()
}

/// The program: does what its environment says, and prints what it has noticed. Without the environment it is a test of nothing.
pub fn run() {
    let Ok(misuse) = env::var(MISUSE) else { return };
    let path = |variable| PathBuf::from(env::var_os(variable).unwrap());
    let (driver, mode) = (path(DRIVER), env::var(MODE).unwrap().parse().unwrap());
    let runtime = Runtime::open(path(RUNTIME), &driver);
    attach(&runtime.path, mode).unwrap();
    let program = Program::new(Driver::at(&driver).unwrap(), &runtime);
    println!("{NOTICED}{}", program.misuse(misuse.parse().unwrap()));
}

struct Program<'a> {
    driver: Driver,
    runtime: &'a Runtime,
    allocate: Function,
    free: Function,
    write_element: u64,
    copy_element: u64,
}

impl<'a> Program<'a> {
    fn new(driver: Driver, runtime: &'a Runtime) -> Self {
        let done = |name, words| assert_eq!(call(&driver, name, words), 0, "{name}");
        let (mut device, mut context, mut module) = (0, 0, 0);
        done("cuInit", [0; 5]);
        done("cuDeviceGet", [address(&mut device), 0, 0, 0, 0]);
        done("cuDevicePrimaryCtxRetain", [address(&mut context), device, 0, 0, 0]);
        done("cuCtxSetCurrent", [context, 0, 0, 0, 0]);
        done("cuModuleLoadData", [address(&mut module), PTX.as_ptr().expose_provenance() as u64, 0, 0, 0]);
        let kernel = |name: &CStr| {
            let mut kernel = 0;
            let name = name.as_ptr().expose_provenance() as u64;
            done("cuModuleGetFunction", [address(&mut kernel), module, name, 0, 0]);
            kernel
        };
        let [write_element, copy_element] = [c"write_element", c"copy_element"].map(kernel);
        let [allocate, free] = [c"cuMemAlloc_v2", c"cuMemFree_v2"].map(|name| runtime.by_name(name));
        Self { driver, runtime, allocate, free, write_element, copy_element }
    }

    /// What the program notices of a misuse.
    fn misuse(&self, misuse: Misuse) -> String {
        let (block, target) = (self.allocate(), self.allocate());
        match misuse {
            Misuse::Overrun => {
                self.launch(self.write_element, [block, ELEMENTS, ONE]);
                let writes = take_out_of_bounds_writes(Stage::Execute);
                writes.first().map_or_else(|| "nothing".to_owned(), ToString::to_string)
            }
            Misuse::UninitializedRead => {
                self.launch(self.write_element, [block, 0, ONE]);
                self.free(block);
                // the same block in a mode that reuses memory
                self.read(self.allocate(), target)
            }
            Misuse::UseAfterFree => {
                self.launch(self.write_element, [block, 0, ONE]);
                self.free(block);
                self.read(block, target)
            }
        }
    }

    /// What a kernel reads from the start of a block and writes to the start of another.
    fn read(&self, block: u64, target: u64) -> String {
        let mut element = 0_u64;
        self.launch(self.copy_element, [block, 0, target]);
        match call(&self.driver, "cuMemcpyDtoH_v2", [address(&mut element), target, 4, 0, 0]) {
            0 => format!("{:?}", f32::from_bits(element as u32)),
            code => format!("error {code}"),
        }
    }

    fn allocate(&self) -> u64 {
        self.runtime.allocate(self.allocate, BYTES).unwrap()
    }

    fn free(&self, block: u64) {
        assert_eq!(self.runtime.free(self.free, block), 0);
    }

    /// Runs a kernel to its end. An error shows at the next copy.
    fn launch(&self, kernel: u64, words: [u64; 3]) {
        assert_eq!(launch(&self.driver, kernel, words), 0);
        call(&self.driver, "cuCtxSynchronize", [0; 5]);
    }
}

/// The code of a function of the driver that takes five words or fewer.
pub fn call(driver: &Driver, name: &str, words: [u64; 5]) -> c_int {
    type Call = unsafe extern "C" fn(u64, u64, u64, u64, u64) -> c_int;
    let function = driver.function::<Call>(name);
    unsafe { function(words[0], words[1], words[2], words[3], words[4]) }
}

/// `cuLaunchKernel`, with the extents of the grid and of a block.
type LaunchKernel = unsafe extern "C" fn(
    u64,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    *mut c_void,
    *const *mut c_void,
    *mut c_void,
) -> c_int;

/// The code of a launch of one thread of a kernel with these words as its parameters.
fn launch(driver: &Driver, kernel: u64, mut words: [u64; 3]) -> c_int {
    let parameters = words.each_mut().map(|word| ptr::from_mut(word).cast::<c_void>());
    let launch = driver.function::<LaunchKernel>("cuLaunchKernel");
    unsafe { launch(kernel, 1, 1, 1, 1, 1, 1, 0, ptr::null_mut(), parameters.as_ptr(), ptr::null_mut()) }
}

/// The address of a variable, as a word.
pub fn address(word: &mut u64) -> u64 {
    ptr::from_mut(word).expose_provenance() as u64
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overrun => "overrun",
            Self::UninitializedRead => "uninitialized-read",
            Self::UseAfterFree => "use-after-free",
        })
    }
}

impl FromStr for Misuse {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|misuse| misuse.to_string() == word);
        found.ok_or_else(|| format!("no misuse {word:?}"))
    }
}
