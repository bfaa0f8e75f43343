//! Lean runtimes, which run in a process of their own.

use std::{
    fs,
    io::{self, Write},
    os::unix::process::ExitStatusExt,
    process::Command,
};

use twinfer_backend::has_cuda_device;
use twinfer_case::Outcome;
use twinfer_libraries::{Installed, Product, SEARCH_PATH_VARIABLE, Store, search_path};
use twinfer_protocol::{FaultCause, FromWorker, PROTOCOL_VERSION};

use super::{Program, Worker, task};

/// Has a worker run plans.
const PLANS: (&str, &str) = ("TWINFER_RUNS_PLANS", "1");

#[test]
fn process_without_its_lean_runtime_says_how_to_install_it() {
    let home = tempfile::tempdir().unwrap();
    let home = ("TWINFER_HOME", home.path().to_str().unwrap());
    let mut worker = Worker::with_environment(Program::Worker, &[PLANS, home]);
    worker.hello(PROTOCOL_VERSION, &["trt,runtime=lean-10.16,vc=on".parse().unwrap()]);
    let message = worker.receive_fault(FaultCause::Environment);
    assert!(message.contains("twinfer backends install tensorrt-lean-10.16"), "{message}");
    assert_eq!(worker.close().code(), Some(3));
}

#[test]
fn engine_of_another_release_runs_in_a_process_of_its_own() {
    on_each_lean_runtime(|mut worker| {
        for x in [-1.0, 2.0] {
            let task = task(x);
            worker.send(&task, &[0]);
            assert_eq!(answered(&mut worker), [f64::from(x.max(0.0))]);
        }
    });
}

#[test]
fn worker_ends_as_its_lean_runtime_ends() {
    on_each_lean_runtime(|mut worker| {
        let runner = only_child(worker.child.id());
        // the first signal only removes a handler
        for _ in 0..2 {
            Command::new("kill").args(["-SEGV", &runner]).status().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        worker.send(&task(1.0), &[0]);
        let status = worker.child.wait().unwrap();
        assert_eq!(status.signal(), Some(11), "{status}");
    });
}

/// Runs `body` on a worker for each installed lean runtime, with engines that TensorRT 8.6 builds.
fn on_each_lean_runtime(body: impl Fn(Worker)) {
    let store = Store::open().unwrap();
    let tensorrt = match store.find("tensorrt-8.6") {
        _ if !has_cuda_device() => return skip("no CUDA device"),
        Err(error) => return skip(&error.to_string()),
        Ok(tensorrt) => tensorrt,
    };
    let is_lean = |library: &Installed| library.product == Product::TensorrtLean;
    let lean: Vec<_> = store.list().unwrap().into_iter().filter(is_lean).collect();
    if lean.is_empty() {
        return skip("no lean runtime is installed: run `twinfer backends install tensorrt-lean-10.16`");
    }
    let versions: Vec<_> = lean.iter().map(|library| library.version.clone()).collect();
    let libraries: Vec<_> = lean.into_iter().chain([tensorrt]).collect();
    let path = search_path(&libraries).unwrap().unwrap_or_default();
    for version in versions {
        let mut worker = Worker::with_environment(Program::Worker, &[(SEARCH_PATH_VARIABLE, &path)]);
        let variant = format!("trt,level=0,runtime=lean-{version},vc=on,version=8.6");
        worker.hello(PROTOCOL_VERSION, &[variant.parse().unwrap()]);
        match worker.receive() {
            FromWorker::Hello { .. } => body(worker),
            other => panic!("{variant}: {other:?}"),
        }
    }
}

/// The values of the answer that comes next.
fn answered(worker: &mut Worker) -> Vec<f64> {
    loop {
        match worker.receive() {
            FromWorker::Stage { .. } => {}
            FromWorker::Answer { observation, .. } => {
                assert_eq!(observation.outcome, Outcome::Ok);
                return observation.runs[0].outputs[0].to_f64();
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The one child of a process, as its number is written.
fn only_child(parent: u32) -> String {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).unwrap();
    let lists = threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("children")).unwrap());
    let children: Vec<_> =
        lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
    assert_eq!(children.len(), 1, "{children:?}");
    children.into_iter().next().unwrap()
}

/// Writes past the capture of the test harness, so that a skipped test never looks like one that ran.
fn skip(reason: &str) {
    // a test does not fail because standard error is closed
    let _ = writeln!(io::stderr(), "skipped: {reason}");
}
