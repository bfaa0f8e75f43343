//! What the backends do on a GPU, against real libraries and golden.
//!
//! A process holds one release of one library, so this program runs itself once a subject, and each of those processes
//! takes its tests one after the other. The subjects are the installed libraries, or those that the environment names:
//!
//! ```text
//! TWINFER_TENSORRT=FOLDER TWINFER_ONNXRUNTIME=FILE gpu-… --nocapture
//! ```
//!
//! The program needs nothing but itself and can be copied to a machine with a GPU. Without one it says so and passes.

#[path = "../common/mod.rs"]
mod common;
mod graphs;
mod onnxruntime;
mod subject;
mod tensorrt;

use std::{
    env,
    process::{Command, ExitCode, Stdio},
};

use libtest_mimic::{Arguments, Failed, Trial};
use twinfer_libraries::Store;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().collect();
    match arguments.iter().position(|argument| argument == "--subject") {
        Some(at) if at + 1 < arguments.len() => run(&arguments[at + 1], &arguments[at + 2..]),
        _ => libtest_mimic::run(&Arguments::from_args(), trials()).exit_code(),
    }
}

/// The tests of one subject, in this process and on one thread.
fn run(variant: &str, arguments: &[String]) -> ExitCode {
    let mut options =
        Arguments::from_iter(std::iter::once("gpu".to_owned()).chain(arguments.iter().cloned()));
    options.test_threads = Some(1);
    let tests = if variant.starts_with("ort:") { onnxruntime::tests() } else { tensorrt::tests(variant) };
    let trials = tests.into_iter().map(|(name, body)| {
        let variant = variant.to_owned();
        Trial::test(name, move || body(subject::of(&variant)?))
    });
    libtest_mimic::run(&options, trials.collect()).exit_code()
}

fn trials() -> Vec<Trial> {
    if !twinfer_backend::has_cuda_device() {
        println!("skipped: no CUDA device");
        return Vec::new();
    }
    let subjects = subjects();
    if subjects.is_empty() {
        println!(
            "skipped: neither TWINFER_TENSORRT nor TWINFER_ONNXRUNTIME is set, and nothing is installed"
        );
    }
    subjects.into_iter().map(|variant| Trial::test(variant.clone(), move || alone(&variant))).collect()
}

/// The variants to test, with the library that each loads.
fn subjects() -> Vec<String> {
    let named = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let (tensorrt, onnxruntime) = (named("TWINFER_TENSORRT"), named("TWINFER_ONNXRUNTIME"));
    let of_tensorrt = |folder: &str| [format!("trt,lib={folder}"), format!("trt-api,lib={folder}")];
    if tensorrt.is_some() || onnxruntime.is_some() {
        let onnxruntime = onnxruntime.map(|file| format!("ort:cuda,lib={file}"));
        return tensorrt.iter().flat_map(|folder| of_tensorrt(folder)).chain(onnxruntime).collect();
    }
    let installed = Store::open().and_then(|store| store.list()).unwrap_or_default();
    let variants = installed.iter().flat_map(|library| match library.name.split_once('-') {
        Some(("tensorrt", release)) if !release.starts_with("rtx") => {
            vec![format!("trt,version={release}"), format!("trt-api,version={release}")]
        }
        Some(("onnxruntime", "cuda")) => vec!["ort:cuda".to_owned()],
        _ => Vec::new(),
    });
    variants.collect()
}

/// Runs the tests of `variant` in a process of their own and tells what they said.
fn alone(variant: &str) -> Result<(), Failed> {
    let child = Command::new(env::current_exe()?)
        .args(["--subject", variant])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    println!("{variant}\n{}", String::from_utf8_lossy(&child.stdout));
    if child.status.success() { Ok(()) } else { Err(format!("{variant}: {}", child.status).into()) }
}
