//! One process per test and library: a process holds one release of a library and one CUDA context.

use std::{
    any::type_name,
    env,
    error::Error,
    io::{self, Write},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

use twinfer_case::{BackendName, Reach, Stage, Variant};
use twinfer_libraries::{Loader, Product, Store};

use crate::subject::Subject;

/// Names the variant that a child process tests.
const SUBJECT_VARIABLE: &str = "TWINFER_GPU_SUBJECT";

/// How a test ends.
pub type TestResult = Result<(), Box<dyn Error>>;

/// Held while a child process runs: kernels are timed, and each test wants the device to itself.
static DEVICE: Mutex<()> = Mutex::new(());

/// Runs the calling test, whose whole body is `body`, on every variant of `backends` that this machine has a library for.
///
/// The test binary runs the same test again in a child process per variant; there `body` is called.
pub fn on_each<F: FnOnce(&mut Subject) -> TestResult>(backends: &[BackendName], body: F) {
    if let Ok(variant) = env::var(SUBJECT_VARIABLE) {
        let mut subject = Subject::open(&variant).unwrap_or_else(|error| panic!("{variant}: {error}"));
        let reach = subject.describe().reaches;
        if reach < Stage::Execute {
            return skip(path_of::<F>(), &format!("{variant}: models are {}", Reach::from(reach)));
        }
        return body(&mut subject).unwrap_or_else(|error| panic!("{variant}: {error}"));
    }
    let test = path_of::<F>();
    let variants = match obstacle() {
        Some(obstacle) => return skip(test, &obstacle),
        None => subjects(backends),
    };
    if variants.is_empty() {
        return skip(test, "no library is installed or named by TWINFER_TENSORRT or TWINFER_ONNXRUNTIME");
    }
    let _device = DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
    let failed: Vec<_> =
        variants.iter().filter(|variant| !passes(test, variant)).map(Variant::to_string).collect();
    assert!(failed.is_empty(), "{test} fails on {}", failed.join(", "));
}

/// The path of the test that `F` is a closure of, as the test binary lists it.
fn path_of<F>() -> &'static str {
    let path = type_name::<F>().trim_end_matches("::{{closure}}");
    path.split_once("::").map_or(path, |(_, path)| path)
}

fn passes(test: &str, variant: &Variant) -> bool {
    let program = env::current_exe().expect("a running program has a path");
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    let output = command.env(SUBJECT_VARIABLE, variant.to_string()).stdin(Stdio::null()).output();
    let output = output.expect("a program starts itself");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    println!("{variant}\n{said}{errors}");
    for line in errors.lines().filter(|line| line.starts_with("skipped: ")) {
        // past the capture of the test harness, as what is skipped here
        let _ = writeln!(io::stderr(), "{line}");
    }
    // a name that matches no test would succeed too
    output.status.success() && said.contains("1 passed")
}

/// Why nothing runs on a GPU here; `None` if one is present.
fn obstacle() -> Option<String> {
    if twinfer_backend::has_cuda_device() {
        return None;
    }
    let driver = Loader::of_this_machine().find("libcuda.so.1");
    Some(driver.map_or_else(
        || "no CUDA device: the NVIDIA driver (libcuda.so.1) is not installed".to_owned(),
        |driver| format!("no CUDA device: the driver at {} reports none", driver.display()),
    ))
}

/// Writes past the capture of the test harness, so that a skipped test never looks like one that ran.
fn skip(test: &str, reason: &str) {
    // a test does not fail because standard error is closed
    let _ = writeln!(io::stderr(), "skipped: {test}: {reason}");
}

/// The variants of `backends` that there are libraries for.
fn subjects(backends: &[BackendName]) -> Vec<Variant> {
    let named = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let (tensorrt, onnxruntime) = (named("TWINFER_TENSORRT"), named("TWINFER_ONNXRUNTIME"));
    let of_tensorrt = |option: &str| [format!("trt,{option}"), format!("trt-api,{option}")];
    let texts: Vec<String> = if tensorrt.is_some() || onnxruntime.is_some() {
        let tensorrt = tensorrt.iter().flat_map(|folder| of_tensorrt(&format!("lib={folder}")));
        tensorrt.chain(onnxruntime.map(|file| format!("ort:cuda,lib={file}"))).collect()
    } else {
        let installed = Store::open().and_then(|store| store.list()).unwrap_or_default();
        let texts = installed.iter().flat_map(|library| match library.product {
            Product::Tensorrt => of_tensorrt(&format!("version={}", library.version)).to_vec(),
            Product::OnnxruntimeCuda => vec!["ort:cuda".to_owned()],
            _ => Vec::new(),
        });
        texts.collect()
    };
    let variants = texts.iter().map(|text| text.parse::<Variant>().expect("it names a variant"));
    variants.filter(|variant| backends.contains(&variant.backend)).collect()
}
