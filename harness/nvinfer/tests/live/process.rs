//! One process per test and release: a process can hold one release, and a leak or a crash stays with its test.

use std::{
    any::type_name,
    cell::OnceCell,
    env,
    error::Error,
    ffi::OsStr,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{Mutex, OnceLock, PoisonError},
};

use nvinfer::{Builder, Library, Product, Runtime, sys::table};
use twinfer_libraries::{Installed, Store};

use crate::device;

/// Names the folder of the release that this process tests. Without it, each test starts a process per installed release.
const LIBRARY_VARIABLE: &str = "NVINFER_LIBRARY";
/// Names a file for the list of the methods that this process calls.
const CALLS_VARIABLE: &str = "NVINFER_CALLS";
/// Set in the process of a test that runs [`in_own_process`].
const OWN_PROCESS_VARIABLE: &str = "NVINFER_OWN_PROCESS";
/// Releases that are installed if possible: the newest, and the oldest of the family before.
const INSTALLED_ON_FIRST_USE: [&str; 2] = ["tensorrt-rtx-1.7", "tensorrt-rtx-1.4"];

/// How a test ends.
pub type TestResult = Result<(), Box<dyn Error>>;

/// A release under test.
#[derive(Clone, Copy)]
pub struct Subject {
    pub library: Library,
    pub builder: &'static Builder,
}

thread_local! {
    static BUILDER: OnceCell<&'static Builder> = const { OnceCell::new() };
    static RUNTIME: OnceCell<&'static Runtime> = const { OnceCell::new() };
}

/// Held while a test uses the library, whose log and address space are the process's, and while a child process runs.
static LIBRARY: Mutex<()> = Mutex::new(());

/// The runtime of the release, created once per thread.
pub fn runtime(library: Library) -> Result<&'static Runtime, nvinfer::Error> {
    RUNTIME.with(|cell| once(cell, || library.create_runtime()))
}

fn once<T>(
    cell: &OnceCell<&'static T>,
    create: impl FnOnce() -> Result<T, nvinfer::Error>,
) -> Result<&'static T, nvinfer::Error> {
    if let Some(created) = cell.get() {
        return Ok(created);
    }
    let created = Box::leak(Box::new(create()?));
    Ok(cell.get_or_init(|| created))
}

/// Runs the calling test, whose whole body is `body`, on each installed release that can create a builder here.
pub fn on_each_release<F: FnOnce(Subject) -> TestResult>(body: F) {
    let test = path_of::<F>();
    on_each_library(test, |library| match builder_obstacle(library) {
        Some(obstacle) => skip(test, &format!("{}: {obstacle}", library.version())),
        None => body(subject(library)?),
    });
}

/// Runs the calling test, whose whole body is `body`, on each installed release that can build an engine here.
pub fn on_each_release_that_builds<F: FnOnce(Subject) -> TestResult>(body: F) {
    let test = path_of::<F>();
    on_each_library(test, |library| {
        match builder_obstacle(library).or_else(|| device::lacks_kernels(library.version())) {
            Some(obstacle) => skip(test, &format!("{}: {obstacle}", library.version())),
            None => body(subject(library)?),
        }
    });
}

/// Runs the calling test, whose whole body is `body`, on each installed release whose engines run on this machine's GPU.
pub fn on_each_release_with_gpu<F: FnOnce(Subject) -> TestResult>(body: F) {
    let test = path_of::<F>();
    on_each_library(test, |library| {
        let version = library.version();
        match device::cannot_run(version).or_else(|| device::lacks_enqueue(version)) {
            Some(obstacle) => skip(test, &format!("{version}: {obstacle}")),
            None => body(subject(library)?),
        }
    });
}

/// Runs the calling test, whose whole body is `body`, on each installed release that needs a GPU this machine lacks.
pub fn on_each_release_without_its_gpu<F: FnOnce(Library) -> TestResult>(body: F) {
    let test = path_of::<F>();
    on_each_library(test, |library| match builder_obstacle(library) {
        Some(_) => body(library),
        None => skip(test, &format!("{} creates a builder on this machine", library.version())),
    });
}

/// Runs the calling test, whose whole body is `body`, in a process of its own.
pub fn in_own_process<F: FnOnce() -> TestResult>(body: F) {
    if env::var_os(OWN_PROCESS_VARIABLE).is_some() {
        return body().unwrap_or_else(|error| panic!("{error}"));
    }
    let output = run_again(path_of::<F>(), &[(OWN_PROCESS_VARIABLE, OsStr::new("1"))]);
    print(&output);
    assert!(passed(&output), "the process of the test ended with {}", output.status);
}

/// Runs the calling test, whose whole body is `body`, on each installed lean runtime.
pub fn on_each_lean_runtime<F: FnOnce(Library) -> TestResult>(body: F) {
    let test = path_of::<F>();
    on_each(test, ("tensorrt-lean-10.16", lean_runtimes), body);
}

fn on_each_library(test: &str, body: impl FnOnce(Library) -> TestResult) {
    on_each(test, ("tensorrt-rtx-1.7", releases), body);
}

/// Runs `body` on the library of this process, or this test in a process for each installed library; `example` is one to install.
fn on_each(
    test: &str,
    (example, installed): (&str, fn() -> &'static [Release]),
    body: impl FnOnce(Library) -> TestResult,
) {
    let _library = LIBRARY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(folder) = env::var_os(LIBRARY_VARIABLE) {
        let folder = Path::new(&folder);
        return on_library(folder, body).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    }
    let releases = installed();
    if releases.is_empty() {
        let hint = format!("none is installed; run `twinfer backends install {example}`");
        return skip(test, &hint).expect("stderr is open");
    }
    let failed: Vec<_> =
        releases.iter().filter(|release| !passes(test, release)).map(|release| &*release.name).collect();
    assert!(failed.is_empty(), "{test} fails on {}", failed.join(", "));
}

fn on_library(folder: &Path, body: impl FnOnce(Library) -> TestResult) -> TestResult {
    let library = Library::load(folder)?;
    println!("{library:?}");
    body(library)?;
    if let Some(path) = env::var_os(CALLS_VARIABLE) {
        fs::write(path, calls(library))?;
    }
    Ok(())
}

/// Why the release cannot create a builder here; `None` if it can.
fn builder_obstacle(library: Library) -> Option<String> {
    (library.version().product() == Product::TensorRt).then(device::absent).flatten()
}

fn subject(library: Library) -> Result<Subject, nvinfer::Error> {
    let builder = BUILDER.with(|cell| once(cell, || library.create_builder()))?;
    Ok(Subject { library, builder })
}

/// The path of the test that `F` is a closure of, as the test binary lists it.
fn path_of<F>() -> &'static str {
    let path = type_name::<F>().trim_end_matches("::{{closure}}");
    path.split_once("::").map_or(path, |(_, path)| path)
}

/// An installed release.
struct Release {
    name: String,
    folder: PathBuf,
    /// What the process of a test loads: the folder, or the file of a lean runtime.
    library: PathBuf,
}

fn passes(test: &str, release: &Release) -> bool {
    let search_path = stand_ins(&release.folder);
    let environment =
        [(LIBRARY_VARIABLE, release.library.as_os_str()), ("LD_LIBRARY_PATH", OsStr::new(&search_path))];
    let output = run_again(test, &environment);
    println!("{}", release.name);
    print(&output);
    passed(&output)
}

/// Runs a test of this binary in a child process with environment variables set.
fn run_again(test: &str, environment: &[(&str, &OsStr)]) -> Output {
    Command::new(env::current_exe().expect("a running program has a path"))
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .envs(environment.iter().copied())
        .env_remove(CALLS_VARIABLE)
        .stdin(Stdio::null())
        .output()
        .expect("a program starts itself")
}

/// Whether the child process ran its test; a path that matches no test would succeed too.
fn passed(output: &Output) -> bool {
    output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed")
}

/// Prints the output of a child process, and its skipped tests past the capture of the test harness.
fn print(output: &Output) {
    let errors = String::from_utf8_lossy(&output.stderr);
    println!("{}{errors}", String::from_utf8_lossy(&output.stdout));
    for line in errors.lines().filter(|line| line.starts_with("skipped: ")) {
        let _ = writeln!(io::stderr(), "{line}");
    }
}

/// Reports a skipped test past the capture of the test harness.
fn skip(test: &str, reason: &str) -> TestResult {
    writeln!(io::stderr(), "skipped: {test}: {reason}")?;
    Ok(())
}

/// The search path with the folder's stand-ins for libraries that TensorRT 8's plugins name and no test uses.
fn stand_ins(folder: &Path) -> String {
    let inherited = env::var("LD_LIBRARY_PATH").unwrap_or_default();
    format!("{inherited}:{}", folder.join("stand-ins").display())
}

/// The installed releases of TensorRT and TensorRT-RTX.
fn releases() -> &'static [Release] {
    static RELEASES: OnceLock<Vec<Release>> = OnceLock::new();
    RELEASES.get_or_init(|| {
        let Ok(store) = Store::open() else { return Vec::new() };
        for name in INSTALLED_ON_FIRST_USE {
            if let Err(error) = store.ensure(name, &mut |step| eprintln!("{step}")) {
                let _ = writeln!(io::stderr(), "skipped: {name}: {error}");
            }
        }
        installed(&store, &["tensorrt", "tensorrt-rtx"], |one| one.directory.clone())
    })
}

/// The installed lean runtimes.
fn lean_runtimes() -> &'static [Release] {
    static RELEASES: OnceLock<Vec<Release>> = OnceLock::new();
    RELEASES.get_or_init(|| {
        let Ok(store) = Store::open() else { return Vec::new() };
        installed(&store, &["tensorrt-lean"], |one| one.library().to_owned())
    })
}

/// The installed releases of `products`, by name.
fn installed(store: &Store, products: &[&str], library: fn(&Installed) -> PathBuf) -> Vec<Release> {
    let all = store.list().unwrap_or_default().into_iter();
    let mut releases: Vec<_> = all
        .filter(|installed| products.contains(&installed.product.to_string().as_str()))
        .map(|installed| Release {
            name: format!("{} {}", installed.name, installed.version),
            library: library(&installed),
            folder: installed.directory,
        })
        .collect();
    releases.sort_by(|one, other| one.name.cmp(&other.name));
    releases
}

/// The methods that this process called, one per line, after a line that names the release.
fn calls(library: Library) -> String {
    let mut paths: Vec<&str> =
        table::methods().filter(|method| method.was_called()).map(|method| method.path).collect();
    paths.sort_unstable();
    paths.dedup();
    format!("# {}: methods called by the live suite\n{}\n", library.version(), paths.join("\n"))
}
