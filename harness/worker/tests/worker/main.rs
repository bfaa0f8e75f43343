//! A worker process, driven message by message.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod lean_runtime;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use twinfer_case::{Case, Expectation, Outcome, Request, Run, Stage, Task, TensorSource, Variant};
use twinfer_onnx::{DataType, Dim, Graph, Node, Op, Tensor, TensorData, ValueInfo};
use twinfer_protocol::{FaultCause, FromWorker, PROTOCOL_VERSION, ToWorker, read_from_worker};
use twinfer_worker::WORKER_VARIABLE;

/// A program that serves as a worker.
#[derive(Clone, Copy)]
enum Program {
    /// The crate's own binary.
    Worker,
    /// A program that is its own worker and prints to stdout meanwhile.
    PrintingFixture,
}

impl Program {
    const fn path(self) -> &'static str {
        match self {
            Self::Worker => env!("CARGO_BIN_EXE_twinfer-worker"),
            Self::PrintingFixture => env!("CARGO_BIN_EXE_twinfer-worker-fixture"),
        }
    }
}

struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Worker {
    fn start(program: Program) -> Self {
        Self::with_environment(program, &[])
    }

    fn with_environment(program: Program, environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new(program.path())
            .env(WORKER_VARIABLE, "1")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { stdin: child.stdin.take(), stdout, child }
    }

    /// Starts a worker and exchanges the handshake.
    fn ready(program: Program, variants: &[&str]) -> Self {
        let mut worker = Self::start(program);
        let variants: Vec<Variant> = variants.iter().map(|variant| variant.parse().unwrap()).collect();
        worker.hello(PROTOCOL_VERSION, &variants);
        let FromWorker::Hello { protocol: PROTOCOL_VERSION, backends, .. } = worker.receive() else {
            panic!("no handshake")
        };
        assert_eq!(backends.len(), variants.len());
        worker
    }

    fn hello(&mut self, protocol: u32, variants: &[Variant]) {
        let stdin = self.stdin.as_mut().unwrap();
        let mut hello = Vec::new();
        ToWorker::write_hello(&mut hello, protocol, variants).unwrap();
        stdin.write_all(&hello).unwrap();
    }

    fn send(&mut self, task: &Task, variants: &[usize]) {
        let stdin = self.stdin.as_mut().unwrap();
        let mut case = Vec::new();
        ToWorker::write_case(&mut case, task, variants).unwrap();
        stdin.write_all(&case).unwrap();
    }

    fn receive(&mut self) -> FromWorker {
        read_from_worker(&mut self.stdout).unwrap().expect("the worker closed its pipe")
    }

    /// Receives a fault of this cause and returns its message.
    fn receive_fault(&mut self, cause: FaultCause) -> String {
        match self.receive() {
            FromWorker::Fault(fault) => {
                assert_eq!(fault.cause, cause, "{}", fault.message);
                fault.message
            }
            other => panic!("no fault: {other:?}"),
        }
    }

    /// Closes the pipe and waits for the worker to end.
    fn close(mut self) -> ExitStatus {
        self.stdin = None;
        self.child.wait().unwrap()
    }
}

/// A case of one Relu with the input `x`.
fn task(x: f32) -> Task {
    let value = |name: &str| ValueInfo {
        name: name.to_owned(),
        dtype: DataType::Float,
        shape: Some(vec![Dim::Fixed(1)]),
    };
    let graph = Graph {
        opset: 17,
        inputs: vec![value("x")],
        initializers: Vec::new(),
        nodes: vec![Node {
            name: "relu".to_owned(),
            op: Op::Relu,
            inputs: vec!["x".to_owned()],
            outputs: vec!["y".to_owned()],
        }],
        outputs: vec![value("y")],
    };
    let input = Tensor { shape: vec![1], data: TensorData::Float(vec![x]) };
    let case = Case {
        graph,
        request: Request { precision: DataType::Float, tf32: false },
        runs: vec![Run { inputs: vec![TensorSource::Data(input)] }],
        expectation: Expectation::Valid,
        provenance: None,
    };
    Task::of(&case).unwrap()
}

/// Receives the stages and the answer of a case on variant `on`, and checks them.
fn expect_answer(worker: &mut Worker, task: &Task, on: usize, result: f32) {
    let mut stages = Vec::new();
    loop {
        match worker.receive() {
            FromWorker::Stage { hash, variant, stage } => {
                assert_eq!((hash, variant), (task.hash, on));
                stages.push(stage);
            }
            FromWorker::Answer { hash, variant, observation, .. } => {
                assert_eq!((hash, variant), (task.hash, on));
                assert_eq!(observation.outcome, Outcome::Ok);
                assert_eq!(observation.runs[0].outputs[0].to_f64(), [f64::from(result)]);
                assert_eq!(stages, [Stage::Parse, Stage::Execute]);
                return;
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn cases_are_answered_in_order_with_their_stages() {
    let mut worker = Worker::ready(Program::Worker, &["golden"]);
    let tasks: Vec<_> = [-1.0, 2.0, 3.0].map(task).into();
    for task in &tasks {
        worker.send(task, &[0]);
    }
    for (task, result) in tasks.iter().zip([0.0, 2.0, 3.0]) {
        expect_answer(&mut worker, task, 0, result);
    }
}

#[test]
fn printed_lines_do_not_come_between_frames() {
    let mut worker = Worker::ready(Program::PrintingFixture, &["golden"]);
    // until the fixture prints
    thread::sleep(Duration::from_millis(400));
    for x in 1..200 {
        let task = task(x as f32);
        worker.send(&task, &[0]);
        expect_answer(&mut worker, &task, 0, x as f32);
    }
}

#[test]
fn variants_share_a_case() {
    let mut worker = Worker::ready(Program::Worker, &["golden", "golden"]);
    let task = task(5.0);
    worker.send(&task, &[1, 0]);
    expect_answer(&mut worker, &task, 1, 5.0);
    expect_answer(&mut worker, &task, 0, 5.0);
    worker.send(&task, &[2]);
    assert!(worker.receive_fault(FaultCause::Environment).contains("variant 2"));
}

#[test]
fn closed_pipe_ends_the_worker_without_an_error() {
    assert!(Worker::start(Program::Worker).close().success());
    assert!(Worker::ready(Program::Worker, &["golden"]).close().success());
}

/// A shell starts a worker whose stdin another process keeps open, prints the worker's process number, and ends.
#[test]
fn worker_ends_with_its_parent_while_its_pipe_is_open() {
    let mut shell = Command::new("sh")
        .args(["-c", "sleep 30 | \"$0\" >&2 & echo $!; sleep 0.5", Program::Worker.path()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut number = String::new();
    let mut line = BufReader::new(shell.stdout.take().unwrap());
    line.read_line(&mut number).unwrap();
    let process = format!("/proc/{}/exe", number.trim());
    let program = Path::new(Program::Worker.path()).canonicalize().unwrap();
    let serves = || fs::read_link(&process).is_ok_and(|exe| exe == program);
    assert!(shell.wait().unwrap().success());
    assert!(serves(), "the worker did not start");
    let begun = Instant::now();
    while serves() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the worker has outlived its parent");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn unknown_option_is_a_fault_of_the_variant() {
    let mut worker = Worker::start(Program::Worker);
    worker.hello(PROTOCOL_VERSION, &["golden,speed=high".parse().unwrap()]);
    assert_eq!(worker.receive_fault(FaultCause::Variant), r#"golden has no option "speed": it has none"#);
    assert_eq!(worker.close().code(), Some(3));
}

#[test]
fn other_protocol_version_is_a_fault() {
    let mut worker = Worker::start(Program::Worker);
    worker.hello(PROTOCOL_VERSION + 1, &[]);
    assert!(worker.receive_fault(FaultCause::Environment).contains("use the same release"));
}

#[test]
fn case_before_the_handshake_is_a_fault() {
    let mut worker = Worker::start(Program::Worker);
    worker.send(&task(1.0), &[0]);
    assert_eq!(
        worker.receive_fault(FaultCause::Environment),
        "the supervisor must send one handshake, before the first case"
    );
}

#[test]
fn unknown_memory_mode_is_a_fault_of_the_variant() {
    for backend in ["trt", "trt-api", "trt-rtx", "ort:cuda"] {
        let mut worker = Worker::start(Program::Worker);
        worker.hello(PROTOCOL_VERSION, &[format!("{backend},memory=sometimes").parse().unwrap()]);
        assert_eq!(
            worker.receive_fault(FaultCause::Variant),
            "option memory=sometimes: use one of off, attributes, keep, poison-nan, poison-large"
        );
        assert_eq!(worker.close().code(), Some(3));
    }
}

#[test]
fn backend_without_a_cuda_runtime_has_no_memory_mode() {
    let mut worker = Worker::start(Program::Worker);
    worker.hello(PROTOCOL_VERSION, &["ort:cpu,memory=off".parse().unwrap()]);
    assert_eq!(
        worker.receive_fault(FaultCause::Variant),
        r#"ort:cpu has no option "memory": use one of lib, opt, version"#
    );
}

#[test]
fn bytes_that_are_no_frame_end_the_worker_with_a_reason() {
    let mut worker = Worker::ready(Program::Worker, &["golden"]);
    worker.stdin.as_mut().unwrap().write_all(&[0xff; 64]).unwrap();
    assert!(worker.receive_fault(FaultCause::Environment).contains("over the limit"));
    let mut rest = Vec::new();
    worker.stdout.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
    assert_eq!(worker.close().code(), Some(3));
}

#[test]
fn worker_continues_after_a_model_that_cannot_be_decoded() {
    let mut worker = Worker::ready(Program::Worker, &["golden"]);
    let broken = Task::new(b"no model".to_vec(), task(1.0).request, Vec::new());
    worker.send(&broken, &[0]);
    assert!(matches!(worker.receive(), FromWorker::Stage { stage: Stage::Parse, .. }));
    let FromWorker::Answer { observation, .. } = worker.receive() else { panic!("no answer") };
    assert!(matches!(observation.outcome, Outcome::Rejected(_)), "{observation:?}");
    let task = task(4.0);
    worker.send(&task, &[0]);
    expect_answer(&mut worker, &task, 0, 4.0);
}
